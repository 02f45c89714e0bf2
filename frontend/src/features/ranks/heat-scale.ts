import type { NumberMetric } from "./heat-metrics";

/** Steps of the scale, the best first. */
export const NUM_BINS = 5;
/** The rank has reported, but not this. */
export const BIN_UNKNOWN = -1;
/** The rank has not reported. */
export const BIN_SILENT = -2;

/** Least, middle and most of what the ranks say; null where none says anything. */
export interface Spread {
  min: number;
  median: number;
  max: number;
}

/** The spread of the numbers that are known. */
export function spreadOf(values: Iterable<number | null>): Spread | null {
  const known = Float64Array.from([...values].filter((value) => value !== null)).sort();
  if (known.length === 0) return null;
  const at = (index: number) => known[index] ?? NaN;
  return {
    min: at(0),
    median: (at((known.length - 1) >> 1) + at(known.length >> 1)) / 2,
    max: at(known.length - 1),
  };
}

/** From the best end to the worst, in steps of one length. */
export interface HeatScale {
  best: number;
  worst: number;
}

/** The scale of a metric: as long as its spread, and no shorter than what matters of it. */
export function scaleOf({ min, median, max }: Spread, metric: NumberMetric): HeatScale {
  const span = Math.max(max - min, metric.leastSpan(median));
  return metric.worse === "high"
    ? { best: min, worst: min + span }
    : { best: max, worst: max - span };
}

/** The step of a value, 0 for the best. */
export function binOf(value: number | null, { best, worst }: HeatScale): number {
  if (value === null) return BIN_UNKNOWN;
  if (worst === best) return 0;
  const part = (value - best) / (worst - best);
  return Math.min(NUM_BINS - 1, Math.max(0, Math.floor(part * NUM_BINS)));
}

/** The ends of a step, the better one first. */
export function binEnds(bin: number, { best, worst }: HeatScale): [number, number] {
  const at = (part: number) => best + ((worst - best) * part) / NUM_BINS;
  return [at(bin), at(bin + 1)];
}
