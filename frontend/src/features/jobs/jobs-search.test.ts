import { expect, it } from "vitest";

import { isFiltered, jobsSearch } from "./jobs-search";

it("reads an address anyone may have typed", () => {
  expect(jobsSearch({ q: "llama", state: "running", project: "x" })).toEqual({
    q: "llama",
    state: "running",
    project: "x",
  });
  expect(jobsSearch({ q: 123, state: "odd", tag: "", owner: {}, archived: "yes" })).toEqual({
    q: "123",
  });
  expect(jobsSearch({ tag: "team=x", archived: true, owner: " ada " })).toEqual({
    tag: ["team=x"],
    archived: true,
    owner: "ada",
  });
  expect(jobsSearch({ tag: ["a", "a", null, 7] })).toEqual({ tag: ["a", "7"] });
  expect(jobsSearch({ tag: Array.from({ length: 20 }, (_, i) => `t${i}`) }).tag).toHaveLength(10);
});

it("takes days that exist, and no others", () => {
  expect(jobsSearch({ from: "2026-02-28", to: "2026-02-30" })).toEqual({ from: "2026-02-28" });
  expect(jobsSearch({ from: "yesterday", to: "2026-1-1" })).toEqual({});
});

it("tells a filter from a choice of project", () => {
  expect(isFiltered({ project: "x" })).toBe(false);
  expect(isFiltered({ archived: true })).toBe(true);
});
