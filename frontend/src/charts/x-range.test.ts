import { expect, it } from "vitest";

import { rangeOf, tidy, toPlotly, unionOf, unitOf } from "./x-range";

it.each([
  [{ "xaxis.range[0]": 1, "xaxis.range[1]": 2 }, [1, 2]],
  [{ "xaxis.range": [3, 9] }, [3, 9]],
  [{ "yaxis2.range[0]": 1 }, undefined],
  [{ "xaxis.autorange": true, "yaxis.range": [0, 1] }, undefined],
  [{ autosize: true }, undefined],
  [{}, undefined],
])("reads the change %j as the range %j", (change, range) =>
  expect(rangeOf(change)).toEqual(range),
);

it("brings times to Plotly by the reader's clock, and back", () => {
  const range = [1_800_000_000.25, 1_800_000_060] as const;
  const [low, high] = toPlotly(range, "time");
  expect(rangeOf({ "xaxis.range[0]": low, "xaxis.range[1]": high })).toEqual(range);
  expect(toPlotly([1, 2], "tokens")).toEqual([1, 2]);
});

it("draws seconds in the unit of the figure, and reads them back", () => {
  const hours = { data: [], layout: { meta: { x_unit_s: 3600 } }, config: {} };
  expect(toPlotly([1800, 7200], "elapsed", unitOf(hours))).toEqual([0.5, 2]);
  expect(rangeOf({ "xaxis.range": [0.5, 2] }, unitOf(hours))).toEqual([1800, 7200]);
  expect(unitOf({ data: [], layout: {}, config: {} })).toBe(1);
});

it("makes a range fit for an address", () => {
  expect(tidy([-3.2, 17.4], "step")).toEqual([0, 18]);
  expect(tidy([1.23456, 2.34567], "time")).toEqual([1.235, 2.346]);
  expect(tidy([0, 0.25], "elapsed")).toEqual([0, 0.25]);
});

it("puts together what charts reach over", () => {
  const [wide, low] = [
    { low: 5, high: 9 },
    { low: 2, high: 7 },
  ];
  expect(unionOf([wide, null, undefined, low])).toEqual([2, 9]);
  expect(unionOf([null])).toBeNull();
  expect(unionOf([{ low: 5, high: 5 }])).toBeNull();
});
