import type { RankState } from "@/api/types";
import {
  formatBytes,
  formatCount,
  formatMetric,
  formatMillis,
  formatRate,
  formatShare,
} from "@/lib/format";
import { bytes, millis, share, tokensPerSecond } from "@/lib/units";

import type { HeatMetric } from "./ranks-search";

/** A number of each rank, on a scale from its best to its worst end. */
export interface NumberMetric {
  label: string;
  /** The value of a rank; null where it is not known. */
  value: (rank: RankState) => number | null;
  /** With its unit. */
  format: (value: number) => string;
  worse: "high" | "low";
  /** The scale is at least this long, so that noise is not drawn as trouble; `median` is that of all ranks. */
  leastSpan: (median: number) => number;
  /** Its values are whole numbers. */
  whole?: boolean;
}

/** Five whole numbers: one for each step of the scale. */
const FEW = () => 4;

const tenth = (median: number) => Math.abs(median) / 10;

/** The metrics that are numbers; the state is a word, and has no scale. */
export const NUMBER_METRICS: Record<Exclude<HeatMetric, "state">, NumberMetric> = {
  step_lag: {
    label: "Step lag",
    value: ({ step_lag }) => step_lag,
    format: (value) => `${formatCount(value)} ${Math.round(value) === 1 ? "step" : "steps"}`,
    worse: "high",
    leastSpan: FEW,
    whole: true,
  },
  tokens_per_s: {
    label: "Speed",
    value: ({ tokens_per_s }) => tokens_per_s,
    format: (value) => formatRate(tokensPerSecond(value)),
    worse: "low",
    leastSpan: tenth,
  },
  wait_share: {
    label: "Time spent waiting",
    value: ({ wait_share }) => wait_share,
    format: (value) => formatShare(share(value)),
    worse: "high",
    leastSpan: () => 0.05,
  },
  wait_p99_ms: {
    label: "Wait, 99th percentile",
    value: ({ wait_p99_ms }) => wait_p99_ms,
    format: (value) => formatMillis(millis(value)),
    worse: "high",
    leastSpan: () => 10,
  },
  queue_depth: {
    label: "Queue depth",
    value: ({ queue_depth }) => queue_depth,
    format: (value) => `${formatMetric(value)} ${value === 1 ? "batch" : "batches"}`,
    worse: "low",
    leastSpan: () => 1,
  },
  rss_bytes: {
    label: "Memory",
    value: ({ rss_bytes }) => rss_bytes,
    format: (value) => formatBytes(bytes(value)),
    worse: "high",
    leastSpan: tenth,
  },
  dropped: {
    label: "Dropped reports",
    value: ({ dropped }) => dropped,
    format: (value) => `${formatCount(value)} ${Math.round(value) === 1 ? "report" : "reports"}`,
    worse: "high",
    leastSpan: FEW,
    whole: true,
  },
  mix_version: {
    label: "Mix version",
    value: ({ mix_version }) => mix_version,
    format: (value) => `v${Math.round(value)}`,
    worse: "low",
    leastSpan: FEW,
    whole: true,
  },
};

/** A metric's name for the reader. */
export const metricLabel = (metric: HeatMetric): string =>
  metric === "state" ? "State" : NUMBER_METRICS[metric].label;
