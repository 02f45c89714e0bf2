import type { RankState } from "@/api/types";

import type { RanksSearch, SortKey } from "./ranks-search";

/** The states from the one that most needs a look to the one that least does. */
const SEVERITY: readonly RankState["state"][] = [
  "lost",
  "stuck",
  "stale",
  "late",
  "live",
  "finished",
];

type Value = number | string | null;

/** The value a column sorts by; "slowest" is settled by more than one and has none. */
const VALUES: Record<Exclude<SortKey, "slowest">, (rank: RankState) => Value> = {
  rank: ({ rank }) => rank,
  state: ({ state }) => -SEVERITY.indexOf(state),
  step_lag: ({ step_lag }) => step_lag,
  tokens_per_s: ({ tokens_per_s }) => tokens_per_s,
  wait_p50_ms: ({ wait_p50_ms }) => wait_p50_ms,
  wait_p99_ms: ({ wait_p99_ms }) => wait_p99_ms,
  wait_max_ms: ({ wait_max_ms }) => wait_max_ms,
  wait_share: ({ wait_share }) => wait_share,
  queue_depth: ({ queue_depth }) => queue_depth,
  rss_bytes: ({ rss_bytes }) => rss_bytes,
  dropped: ({ dropped }) => dropped,
  mix_version: ({ mix_version }) => mix_version,
  host: ({ host }) => host,
};

function compare(a: Value, b: Value): number {
  if (a === b) return 0;
  if (typeof a === "string" && typeof b === "string")
    return a.localeCompare(b, "en", { numeric: true });
  return (a as number) - (b as number);
}

/** Furthest behind first, then worst state, then longest wait, then rank. */
function bySlowest(a: RankState, b: RankState): number {
  return (
    b.step_lag - a.step_lag ||
    SEVERITY.indexOf(a.state) - SEVERITY.indexOf(b.state) ||
    b.wait_p99_ms - a.wait_p99_ms ||
    a.rank - b.rank
  );
}

function byColumn(key: Exclude<SortKey, "slowest">, up: boolean) {
  return (a: RankState, b: RankState): number => {
    const left = VALUES[key](a);
    const right = VALUES[key](b);
    // What is not known goes last, whichever way the column is sorted.
    if (left === null || right === null)
      return Number(left === null) - Number(right === null) || a.rank - b.rank;
    return (up ? compare(left, right) : compare(right, left)) || a.rank - b.rank;
  };
}

function matches(rank: RankState, words: readonly string[]): boolean {
  const text = `rank ${rank.rank} ${rank.state} ${rank.host}`.toLowerCase();
  return words.every((word) => text.includes(word));
}

/** The ranks that match every word of `q` (rank, state or host), in the order asked for. */
export function arrangeRanks(
  ranks: readonly RankState[],
  { sort = "slowest", up = false, q = "" }: RanksSearch,
) {
  const words = q.toLowerCase().split(/\s+/).filter(Boolean);
  const order = sort === "slowest" ? bySlowest : byColumn(sort, up);
  return ranks.filter((rank) => matches(rank, words)).sort(order);
}
