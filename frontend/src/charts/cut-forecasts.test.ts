import { expect, it } from "vitest";

import { cutForecasts } from "./cut-forecasts";
import { toWallClock } from "./local-times";

const forecast = { meta: "forecast", x: [100, 200], y: [1, 3] };
const line = { x: [0, 100], y: [0, 1] };
const figure = { data: [line, forecast], layout: {}, config: {} };

it("cuts a forecast where what is shown ends, and leaves data alone", () => {
  expect(cutForecasts(figure, [0, 150], "step").data).toEqual([
    line,
    { ...forecast, mode: "lines", x: [100, 150], y: [1, 2] },
  ]);
  expect(cutForecasts(figure, [0, 50], "step").data).toEqual([line]);
  expect(cutForecasts(figure, [0, 200], "tokens").data).toEqual([line, forecast]);
  expect(cutForecasts(figure, null, "step")).toBe(figure);
});

it("cuts one over time by the reader's clock", () => {
  const at = (seconds: number) => toWallClock(new Date(seconds * 1000));
  const overTime = {
    ...figure,
    data: [{ ...forecast, x: [at(1_800_000_000), at(1_800_000_100)] }],
  };
  const [cut] = cutForecasts(overTime, [1_799_999_000, 1_800_000_050], "time").data;
  expect(cut).toMatchObject({ x: [at(1_800_000_000), at(1_800_000_050)], y: [1, 2] });
  expect(cutForecasts(overTime, [1_799_999_000, 1_799_999_999], "time").data).toEqual([]);
});
