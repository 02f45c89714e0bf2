import { expect, it } from "vitest";

import { cutForecasts } from "./cut-forecasts";

const forecast = { meta: "forecast", x: [100, 200], y: [1, 3] };
const line = { x: [0, 100], y: [0, 1] };
const figure = { data: [line, forecast], layout: {}, config: {} };

it("cuts a forecast where what is shown ends, and leaves data alone", () => {
  expect(cutForecasts(figure, [0, 150]).data).toEqual([
    line,
    { ...forecast, mode: "lines", x: [100, 150], y: [1, 2] },
  ]);
  expect(cutForecasts(figure, [0, 50]).data).toEqual([line]);
  expect(cutForecasts(figure, [0, 200]).data).toEqual([line, forecast]);
  expect(cutForecasts(figure, null)).toBe(figure);
});
