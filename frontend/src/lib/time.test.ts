import { expect, it } from "vitest";

import { formatAge, formatDuration, formatLocal, formatSpan, formatUtc } from "./time";

it.each([
  [0, "0 s"],
  [40_900, "40 s"],
  [60_000, "1 min"],
  [7_200_000, "2 h"],
  [200_000_000, "2 d"],
])("an age of %d ms is %s", (ms, text) => expect(formatAge(1_000_000, 1_000_000 + ms)).toBe(text));

it("counts a moment ahead of this clock as now", () => expect(formatAge(5000, 1000)).toBe("0 s"));

it("shows UTC whatever the zone", () => {
  expect(formatUtc("2026-11-30T14:03:21.480Z")).toBe("2026-11-30 14:03:21 UTC");
  expect(formatUtc("2026-11-30T15:03:21+01:00")).toBe("2026-11-30 14:03:21 UTC");
});

it("leaves the date out on the same day only", () => {
  const now = new Date("2026-11-30T14:00:00");
  expect(formatLocal("2026-11-30T10:00:00", now)).not.toContain("2026");
  expect(formatLocal("2026-11-29T10:00:00", now)).toContain("2026");
});

it("measures a span with tenths below a minute", () => {
  expect(formatSpan("2026-11-30T10:00:00Z", "2026-11-30T10:00:00.400Z")).toBe("0.4 s");
  expect(formatSpan("2026-11-30T10:00:00Z", "2026-11-30T10:03:00Z")).toBe("3 min");
  expect(formatSpan("2026-11-30T10:00:01Z", "2026-11-30T10:00:00Z")).toBe("0.0 s");
});

it("says a duration in units that keep it short", () => {
  expect([90, 60, 3600, 5400, 259_200, 604_800, 2_592_000, 0].map(formatDuration)).toEqual([
    "1.5 min",
    "1 min",
    "1 h",
    "1.5 h",
    "72 h",
    "7 d",
    "30 d",
    "0 s",
  ]);
});
