import { RANK_STATES, type RankStateName } from "./rank-states";

/** How the rank table is sorted, as it stands in the address. */
const SORT_KEYS = [
  "slowest",
  "rank",
  "state",
  "step_lag",
  "tokens_per_s",
  "wait_p50_ms",
  "wait_p99_ms",
  "wait_max_ms",
  "wait_share",
  "queue_depth",
  "rss_bytes",
  "dropped",
  "masked_tokens",
  "mix_version",
  "host",
] as const;

/** A column that the table sorts by, or `slowest`. */
export type SortKey = (typeof SORT_KEYS)[number];

/** What the heat map can show; its first is shown when the address says nothing. */
export const HEAT_METRICS = [
  "state",
  "step_lag",
  "tokens_per_s",
  "wait_share",
  "wait_p99_ms",
  "queue_depth",
  "rss_bytes",
  "dropped",
  "mix_version",
] as const;

/** A metric of the heat map. */
export type HeatMetric = (typeof HEAT_METRICS)[number];

/** Sort (largest first unless `up`), filter and metric of the page of ranks. */
export interface RanksSearch {
  sort?: SortKey;
  up?: boolean;
  q?: string;
  state?: RankStateName;
  host?: string;
  metric?: HeatMetric;
}

/** A search for "123" arrives as a number. */
const text = (value: unknown) =>
  typeof value === "string" || typeof value === "number" ? String(value) : "";

/** Reads the view from an address that anyone may have typed; what is not understood is left out. */
export function ranksSearch(search: { [key in keyof RanksSearch]?: unknown }): RanksSearch {
  const sort = SORT_KEYS.find((key) => key === search.sort);
  const state = RANK_STATES.find((known) => known === search.state);
  const metric = HEAT_METRICS.find((known) => known === search.metric);
  const q = text(search.q);
  const host = text(search.host);
  return {
    ...(sort && sort !== "slowest" && { sort }),
    ...(search.up === true && { up: true }),
    ...(q !== "" && { q }),
    ...(state && { state }),
    ...(host !== "" && { host }),
    ...(metric && metric !== HEAT_METRICS[0] && { metric }),
  };
}
