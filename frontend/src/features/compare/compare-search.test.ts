import { expect, it } from "vitest";

import { compareSearch, MAX_JOBS, readIds } from "./compare-search";

const id = (number: number) => `0b7c1a4e-9d57-4a3f-8f33-${String(number).padStart(12, "0")}`;

it("reads an address anyone may have typed", () => {
  expect(compareSearch({ jobs: "a,b", x: "elapsed", metric: "loss", source: "web" })).toEqual({
    jobs: "a,b",
    x: "elapsed",
    metric: "loss",
    source: "web",
  });
  expect(compareSearch({ x: "tokens", from: 10, to: 20 })).toEqual({
    x: "tokens",
    from: 10,
    to: 20,
  });
  expect(compareSearch({ from: 20, to: 10 })).toEqual({});
  expect(compareSearch({ jobs: ["a"], x: "time", metric: "odd", source: 3 })).toEqual({});
});

it("takes each id once, ten at most, and counts what it leaves out", () => {
  expect(readIds(undefined)).toEqual({ ids: [], left: 0 });
  expect(readIds(`${id(1)}, ${id(2)},${id(1)},nonsense`)).toEqual({ ids: [id(1), id(2)], left: 1 });
  const many = Array.from({ length: 12 }, (_, number) => id(number));
  expect(readIds(many.join(","))).toEqual({ ids: many.slice(0, MAX_JOBS), left: 2 });
});
