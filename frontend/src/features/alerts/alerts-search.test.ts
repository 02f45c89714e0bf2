import { expect, it } from "vitest";

import { alertsSearch, rulesSearch } from "./alerts-search";

it("reads an address anyone may have typed", () => {
  const whole = { project: "vision", job: "j", state: "firing", kind: "data_wait" };
  expect(alertsSearch({ ...whole, other: 1 })).toEqual(whole);
  expect(alertsSearch({ project: "", job: 5, state: "on fire", kind: ["x"] })).toEqual({});
  expect(rulesSearch({ project: "vision", state: "firing" })).toEqual({ project: "vision" });
  expect(rulesSearch({ project: 1 })).toEqual({});
});
