import type { RankState } from "@/api/types";

import { severity } from "./rank-states";
import type { RanksSearch, SortKey } from "./ranks-search";

type ColumnKey = Exclude<SortKey, "slowest">;

/** The value a column sorts by; "slowest" is settled by more than one and has none. */
const VALUES: Record<Exclude<ColumnKey, "host">, (rank: RankState) => number | null> = {
  rank: ({ rank }) => rank,
  state: ({ state }) => -severity(state),
  step_lag: ({ step_lag }) => step_lag,
  tokens_per_s: ({ tokens_per_s }) => tokens_per_s,
  wait_p50_ms: ({ wait_p50_ms }) => wait_p50_ms,
  wait_p99_ms: ({ wait_p99_ms }) => wait_p99_ms,
  wait_max_ms: ({ wait_max_ms }) => wait_max_ms,
  wait_share: ({ wait_share }) => wait_share,
  queue_depth: ({ queue_depth }) => queue_depth,
  rss_bytes: ({ rss_bytes }) => rss_bytes,
  dropped: ({ dropped }) => dropped,
  masked_tokens: ({ masked_tokens }) => masked_tokens,
  mix_version: ({ mix_version }) => mix_version,
};

const collator = new Intl.Collator("en", { numeric: true });

/** The place of each host in their order: comparing names is slow, and many ranks share one. */
function hostPlaces(ranks: readonly RankState[]): Map<string, number> {
  const hosts = [...new Set(ranks.map(({ host }) => host))].sort(collator.compare);
  return new Map(hosts.map((host, place) => [host, place]));
}

/** Furthest behind first, then worst state, then longest wait, then rank. */
export function bySlowest(a: RankState, b: RankState): number {
  return (
    b.step_lag - a.step_lag ||
    severity(a.state) - severity(b.state) ||
    b.wait_p99_ms - a.wait_p99_ms ||
    a.rank - b.rank
  );
}

function sortByColumn(ranks: readonly RankState[], key: ColumnKey, up: boolean): RankState[] {
  const places = key === "host" ? hostPlaces(ranks) : null;
  const valueOf = key === "host" ? ({ host }: RankState) => places?.get(host) ?? 0 : VALUES[key];
  const sign = up ? 1 : -1;
  return ranks
    .map((rank) => ({ rank, value: valueOf(rank) }))
    .sort((a, b) => {
      // What is not known goes last, whichever way the column is sorted.
      if (a.value === null || b.value === null) {
        return Number(a.value === null) - Number(b.value === null) || a.rank.rank - b.rank.rank;
      }
      return sign * (a.value - b.value) || a.rank.rank - b.rank.rank;
    })
    .map(({ rank }) => rank);
}

type Filter = Pick<RanksSearch, "q" | "state" | "host">;

/** A number is a rank's own and no part of another's, nor of a host's name, which has a filter of its own. */
const matches = (rank: RankState, word: string): boolean =>
  /^\d+$/.test(word)
    ? rank.rank === Number(word)
    : `rank ${rank.state} ${rank.host}`.toLowerCase().includes(word);

/**
 * The ranks in a state, on a host (the whole name of one, or a part of any), that match every word of `q`: a rank's
 * number, a part of its state or of its host.
 */
export function filterRanks(ranks: readonly RankState[], { q = "", state, host = "" }: Filter) {
  const words = q.toLowerCase().split(/\s+/).filter(Boolean);
  const wanted = host.toLowerCase();
  const whole = wanted !== "" && ranks.some((rank) => rank.host.toLowerCase() === wanted);
  return ranks.filter((rank) => {
    if (state !== undefined && rank.state !== state) return false;
    const name = wanted === "" ? "" : rank.host.toLowerCase();
    if (whole ? name !== wanted : !name.includes(wanted)) return false;
    return words.every((word) => matches(rank, word));
  });
}

/** Ranks in the order asked for; the slowest first where none is. */
export function sortRanks(
  ranks: readonly RankState[],
  { sort = "slowest", up = false }: Pick<RanksSearch, "sort" | "up">,
): RankState[] {
  return sort === "slowest" ? [...ranks].sort(bySlowest) : sortByColumn(ranks, sort, up);
}
