import { expect, it } from "vitest";

import { jobsSearch } from "./jobs-search";

it("reads an address anyone may have typed", () => {
  expect(jobsSearch({ q: "llama", state: "running" })).toEqual({ q: "llama", state: "running" });
  expect(jobsSearch({ q: 123, state: "on fire", other: 1 })).toEqual({ q: "123" });
  expect(jobsSearch({ q: "", state: "" })).toEqual({});
});
