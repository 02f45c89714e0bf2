import { expect, it } from "vitest";

import { rankState } from "@/testing/fixtures";

import { binCounts, heatCells, worstRanks } from "./heat-cells";
import { binText } from "./heat-legend-text";
import { NUMBER_METRICS } from "./heat-metrics";
import { BIN_SILENT, BIN_UNKNOWN, NUM_BINS, spreadOf } from "./heat-scale";

it("tells least, median and most, whatever is not known", () => {
  expect(spreadOf([3, null, 1, 10])).toEqual({ min: 1, median: 3, max: 10 });
  expect(spreadOf([1, 3])).toEqual({ min: 1, median: 2, max: 3 });
  expect(spreadOf([null])).toBeNull();
});

it("puts the worst rank in the last step and names it, whichever way is worse", () => {
  const ranks = [10, 11, 12, 60].map((lag, rank) => rankState({ rank, step_lag: lag }));
  const lag = heatCells(ranks, "step_lag", 4);
  expect([...lag.bins]).toEqual([0, 0, 0, NUM_BINS - 1]);
  expect(worstRanks(ranks, "step_lag", lag.spread, 3).map(({ rank }) => rank)).toEqual([3, 2]);

  const slow = [100, 900, 1000].map((rate, rank) => rankState({ rank, tokens_per_s: rate }));
  const speed = heatCells(slow, "tokens_per_s", 3);
  expect([...speed.bins]).toEqual([NUM_BINS - 1, 0, 0]);
  expect(worstRanks(slow, "tokens_per_s", speed.spread, 3).map(({ rank }) => rank)).toEqual([0]);
});

it("draws noise as what it is: a scale is never shorter than what matters", () => {
  const ranks = [0.001, 0.002].map((wait, rank) => rankState({ rank, wait_share: wait }));
  const { bins } = heatCells(ranks, "wait_share", 2);
  expect([...bins]).toEqual([0, 0]);
});

it("gives each of a few whole numbers a step, told with its unit", () => {
  const ranks = [0, 1, 2, 4].map((lag, rank) => rankState({ rank, step_lag: lag }));
  const { bins, scale } = heatCells(ranks, "step_lag", 4);
  expect([...bins]).toEqual([0, 1, 2, 4]);
  if (scale === null) throw new Error("there is no scale");
  const texts = [0, 1, 2, 3, 4].map((bin) => binText(bin, scale, NUMBER_METRICS.step_lag));
  expect(texts).toEqual(["0 steps", "1 step", "2 steps", "3 steps", "4 steps"]);
  const versions = [4, 3].map((version, rank) => rankState({ rank, mix_version: version }));
  const mix = heatCells(versions, "mix_version", 2);
  if (mix.scale === null) throw new Error("there is no scale");
  expect([...mix.bins]).toEqual([0, 1]);
  expect(binText(1, mix.scale, NUMBER_METRICS.mix_version)).toBe("v3");
});

it("tells ranks that never reported from those of which a value is not known", () => {
  const ranks = [rankState({ rank: 1, mix_version: null }), rankState({ rank: 2, mix_version: 3 })];
  const cells = heatCells(ranks, "mix_version", 4);
  expect([...cells.bins]).toEqual([BIN_SILENT, BIN_UNKNOWN, 0, BIN_SILENT]);
  expect(cells.numSilent).toBe(2);
  expect(binCounts(cells, NUM_BINS)).toEqual([1, 0, 0, 0, 0]);
});

it("names the ranks in the worst states, and none while all are well", () => {
  const well = [rankState({ rank: 0 }), rankState({ rank: 1, state: "finished" })];
  expect(worstRanks(well, "state", null, 3)).toEqual([]);
  const ill = [
    ...well,
    rankState({ rank: 2, state: "late" }),
    rankState({ rank: 3, state: "lost" }),
  ];
  expect(worstRanks(ill, "state", null, 3).map(({ rank }) => rank)).toEqual([3, 2]);
});

it("maps ten thousand ranks", () => {
  const ranks = Array.from({ length: 10_240 }, (_, rank) =>
    rankState({ rank, step_lag: rank % 7 }),
  );
  const cells = heatCells(ranks, "step_lag", 10_240);
  expect(binCounts(cells, NUM_BINS).reduce((sum, count) => sum + count)).toBe(10_240);
});
