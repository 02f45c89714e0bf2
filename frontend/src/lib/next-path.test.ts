import { expect, it } from "vitest";

import { nextPath } from "./next-path";

it("goes back to a page of this origin", () => {
  expect(nextPath("/jobs/1/mix?x=time#a")).toBe("/jobs/1/mix?x=time#a");
});

it.each([
  undefined,
  "",
  "jobs",
  "https://evil.example/",
  "//evil.example/",
  "/\\evil.example",
  "javascript:alert(1)",
  "/login?next=/jobs",
])("goes to the start page for %j", (next) => expect(nextPath(next)).toBe("/"));
