import { expect, it } from "vitest";

import { localFieldText, NOW, parseLocal, parseSchedule, parseWhole } from "./mix-schedule";

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

const NOON = Date.parse("2026-12-01T12:00:00Z");

it("is now and at once unless told otherwise", () => {
  expect(parseSchedule(NOW, 1500, NOON)).toEqual({
    atStep: null,
    at: null,
    rampSteps: 0,
    stepError: null,
    timeError: null,
    rampError: null,
  });
});

it("names what is wrong", () => {
  const parsed = parseSchedule(
    { ...NOW, when: "at-step", step: "soon", ramp: "a few" },
    1500,
    NOON,
  );
  expect(parsed.stepError).toContain("'soon'");
  expect(parsed.rampError).toContain("'a few'");
  const passed = parseSchedule({ ...NOW, when: "at-step", step: "1500" }, 1500, NOON);
  expect(passed.stepError).toBe("Step 1500 has passed: the job is at 1500");
  expect(parseSchedule({ ...NOW, when: "at-step", step: "1501" }, 1500, NOON)).toMatchObject({
    atStep: 1501,
    stepError: null,
  });
});

it("forgets a step or a time that was typed before going back to now", () => {
  const typed = { ...NOW, step: "soon", time: "never", ramp: "" };
  expect(parseSchedule(typed, 1500, NOON)).toEqual(parseSchedule(NOW, 1500, NOON));
});

it("reads a time in the reader's zone and sends it in UTC", () => {
  const local = localFieldText(new Date(NOON + 3_600_000));
  expect(parseSchedule({ ...NOW, when: "at-time", time: local }, null, NOON)).toMatchObject({
    at: "2026-12-01T13:00:00.000Z",
    timeError: null,
  });
  expect(parseLocal("2026-12-01T10:00", Date.parse("2027-01-01T00:00:00Z"))).toContain("passed");
  expect(parseLocal("", NOON)).toContain("Give a date");
  expect(parseLocal("tomorrow", NOON)).toContain("'tomorrow'");
});
