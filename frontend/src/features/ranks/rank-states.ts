import type { RankState } from "@/api/types";

/** A rank's state. */
export type RankStateName = RankState["state"];

/** The states from the one that most needs a look to the one that least does. */
export const RANK_STATES = [
  "lost",
  "stuck",
  "stale",
  "late",
  "live",
  "finished",
] as const satisfies readonly RankStateName[];

/** 0 for the worst. */
export const severity = (state: RankStateName): number => RANK_STATES.indexOf(state);

/** How many ranks are in each state. */
export function countStates(ranks: readonly RankState[]): Record<RankStateName, number> {
  const counts = { lost: 0, stuck: 0, stale: 0, late: 0, live: 0, finished: 0 };
  for (const { state } of ranks) counts[state] += 1;
  return counts;
}
