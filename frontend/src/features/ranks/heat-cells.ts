import type { RankState } from "@/api/types";

import { NUMBER_METRICS } from "./heat-metrics";
import { BIN_SILENT, binOf, scaleOf, spreadOf, type HeatScale, type Spread } from "./heat-scale";
import { severity } from "./rank-states";
import type { HeatMetric } from "./ranks-search";
import { bySlowest } from "./sort-ranks";

/** What the map shows: a step of the scale, or a state, for each rank. */
export interface HeatCells {
  metric: HeatMetric;
  /** For each rank from 0: the bin, or the place of its state; negative where there is none. */
  bins: Int8Array;
  /** For a number: its scale and its spread; null for the state, and where no rank says anything. */
  scale: HeatScale | null;
  spread: Spread | null;
  /** Ranks that have not reported. */
  numSilent: number;
}

/** The cells of all ranks up to `numRanks`, or to the last that has reported. */
export function heatCells(
  ranks: readonly RankState[],
  metric: HeatMetric,
  numRanks: number,
): HeatCells {
  const count = Math.max(numRanks, (ranks.at(-1)?.rank ?? -1) + 1);
  const bins = new Int8Array(count).fill(BIN_SILENT);
  const numSilent = count - ranks.length;
  if (metric === "state") {
    for (const { rank, state } of ranks) bins[rank] = severity(state);
    return { metric, bins, scale: null, spread: null, numSilent };
  }
  const { value, ...rest } = NUMBER_METRICS[metric];
  const spread = spreadOf(ranks.map(value));
  const scale = spread && scaleOf(spread, { value, ...rest });
  for (const rank of ranks) bins[rank.rank] = binOf(value(rank), scale ?? { best: 0, worst: 0 });
  return { metric, bins, scale, spread, numSilent };
}

/** How many cells are in each bin from 0. */
export function binCounts({ bins }: HeatCells, numBins: number): number[] {
  const counts = new Array<number>(numBins).fill(0);
  for (const bin of bins) if (bin >= 0) counts[bin] = (counts[bin] ?? 0) + 1;
  return counts;
}

/** The ranks that are worst in a metric, at most `most`; none where all are alike. */
export function worstRanks(
  ranks: readonly RankState[],
  metric: HeatMetric,
  spread: Spread | null,
  most: number,
): RankState[] {
  if (metric === "state") {
    const troubled = ranks.filter(({ state }) => severity(state) < severity("live"));
    return troubled
      .sort((a, b) => severity(a.state) - severity(b.state) || bySlowest(a, b))
      .slice(0, most);
  }
  if (spread === null || spread.min === spread.max) return [];
  const { value, worse } = NUMBER_METRICS[metric];
  const sign = worse === "high" ? -1 : 1;
  // No better than the middle is not worst: a map of which most are alike names those that differ.
  const beyond = ranks.filter((rank) => {
    const own = value(rank);
    return own !== null && sign * (own - spread.median) < 0;
  });
  return beyond
    .sort((a, b) => sign * ((value(a) ?? 0) - (value(b) ?? 0)) || a.rank - b.rank)
    .slice(0, most);
}
