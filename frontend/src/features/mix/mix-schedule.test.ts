import { expect, it } from "vitest";

import { NOW, parseSchedule, parseWhole } from "./mix-schedule";

it.each([
  ["0", 0],
  ["12,000", 12_000],
  [" 12 000 ", 12_000],
  ["-1", null],
  ["1.5", null],
  ["1e3", null],
  ["", null],
  ["99999999999999999999", null],
])("reads %j as %j", (text, value) => expect(parseWhole(text)).toBe(value));

it("is now and at once unless told otherwise", () => {
  expect(parseSchedule(NOW)).toEqual({
    fromStep: null,
    rampSteps: 0,
    stepError: null,
    rampError: null,
  });
});

it("names what is wrong", () => {
  const parsed = parseSchedule({ when: "at-step", step: "soon", ramp: "a few" });
  expect(parsed.stepError).toContain("'soon'");
  expect(parsed.rampError).toContain("'a few'");
});

it("forgets a step that was typed before going back to now", () => {
  expect(parseSchedule({ when: "now", step: "soon", ramp: "" })).toMatchObject({
    fromStep: null,
    stepError: null,
    rampError: null,
  });
});
