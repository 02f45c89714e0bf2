import { expect, it } from "vitest";

import { mixDifference } from "./mix-difference";

it("names what changed, what was added and what is gone, and nothing else", () => {
  expect(mixDifference({ a: 5, b: 3, d: 2 }, { a: 5, b: 1, c: 4 })).toEqual([
    { source: "b", before: 3, after: 1 },
    { source: "c", before: 0, after: 4 },
    { source: "d", before: 2, after: 0 },
  ]);
});
