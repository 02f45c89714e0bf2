/** How the rank table is sorted and filtered, as it stands in the address. */
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
  "mix_version",
  "host",
] as const;

/** A column that the table sorts by, or `slowest`. */
export type SortKey = (typeof SORT_KEYS)[number];

/** Sort (largest first unless `up`) and filter of the rank table. */
export interface RanksSearch {
  sort?: SortKey;
  up?: boolean;
  q?: string;
}

/** Reads sort and filter from an address that anyone may have typed; what is not understood is left out. */
export function ranksSearch(search: Record<string, unknown>): RanksSearch {
  const sort = SORT_KEYS.find((key) => key === search.sort);
  const q = typeof search.q === "string" || typeof search.q === "number" ? String(search.q) : "";
  return {
    ...(sort && sort !== "slowest" && { sort }),
    ...(search.up === true && { up: true }),
    ...(q !== "" && { q }),
  };
}
