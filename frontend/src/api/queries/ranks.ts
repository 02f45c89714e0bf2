import { queryOptions, type QueryClient } from "@tanstack/react-query";

import { api, unwrap } from "../client";
import { pollUnlessLive } from "../connection";
import type { RankState } from "../types";

import { jobKey } from "./job";

/** Every rank of the newest attempt, by rank; null before the first start. */
export interface Ranks {
  items: readonly RankState[];
  attempt: number | null;
}

/** A page of this many is parsed in some 20 ms, so that the browser can draw between two. */
const PAGE = 2500;

/** All pages; begun anew where another attempt starts between two of them, a few times at most. */
async function fetchAll(jobId: string, signal: AbortSignal, tries = 3): Promise<Ranks> {
  const items: RankState[] = [];
  let attempt: number | null = null;
  let cursor: string | null = null;
  do {
    const page: { items: RankState[]; attempt: number | null; next_cursor: string | null } =
      await unwrap(
        api.GET("/api/v1/jobs/{job}/ranks", {
          params: { path: { job: jobId }, query: { limit: PAGE, ...(cursor && { cursor }) } },
          signal,
        }),
      );
    if (cursor !== null && page.attempt !== attempt && tries > 1)
      return fetchAll(jobId, signal, tries - 1);
    items.push(...page.items);
    attempt = page.attempt;
    cursor = page.next_cursor;
  } while (cursor !== null);
  return { items, attempt };
}

/** The key of all that is kept of a job's ranks. */
export const ranksKey = (jobId: string) => [...jobKey(jobId), "ranks"] as const;

/** The latest state of every rank of the job's newest attempt, however many pages that takes. */
export const ranksQuery = (jobId: string) =>
  queryOptions({
    queryKey: [...ranksKey(jobId), "all"],
    queryFn: ({ signal }) => fetchAll(jobId, signal),
    // Comparing thousands of ranks with the last answer takes longer than drawing the new one.
    structuralSharing: false,
    refetchInterval: pollUnlessLive(10_000),
  });

/** The latest state of one rank, and which ranks to look at next. */
export const rankQuery = (jobId: string, rank: number) =>
  queryOptions({
    queryKey: [...ranksKey(jobId), rank],
    queryFn: ({ signal }) =>
      unwrap(
        api.GET("/api/v1/jobs/{job}/ranks/{rank}", {
          params: { path: { job: jobId, rank } },
          signal,
        }),
      ),
    refetchInterval: pollUnlessLive(5000),
  });

/**
 * How often the ranks of a job are worth fetching: each 2 s up to 4,000 of them, each 5 s at 10,000, which report that
 * seldom themselves.
 */
export const ranksPaceMs = (numRanks: number) => Math.max(2000, numRanks / 2);

/** The pace for what is held of the job. */
export const heldRanksPaceMs = (client: QueryClient, jobId: string) =>
  ranksPaceMs(client.getQueryData(ranksQuery(jobId).queryKey)?.items.length ?? 0);
