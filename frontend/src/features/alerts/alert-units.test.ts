import { expect, it } from "vitest";

import { formatFigure, readFigure, typedFigure } from "./alert-units";

it("says each kind's figure with its unit", () => {
  expect(formatFigure("data_wait", 0.234)).toBe("23.4 % of the time");
  expect(formatFigure("throughput_drop", 0.5)).toBe("50.0 % of its median");
  expect(formatFigure("mix_drift", 0.05)).toBe("5.0 pp");
  expect(formatFigure("rank_lost", 1)).toBe("1 rank");
  expect(formatFigure("rank_lost", 0)).toBe("0 ranks");
  expect(formatFigure("job_stalled", 300)).toBe("300 s");
  expect(formatFigure("source_epochs", 4.25)).toBe("4.25 epochs");
});

it("takes what is typed in the unit shown, and gives it back", () => {
  expect(readFigure("data_wait", "5")).toBe(0.05);
  expect(readFigure("data_wait", "0,7")).toBe(0.007);
  expect(readFigure("job_stalled", "300")).toBe(300);
  expect(readFigure("data_wait", "much")).toBeNull();
  expect(readFigure("data_wait", " ")).toBeUndefined();
  for (const value of [0.05, 0.07, 0.29, 0.9]) {
    expect(readFigure("data_wait", typedFigure("data_wait", value))).toBe(value);
  }
});
