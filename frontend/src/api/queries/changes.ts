import { infiniteQueryOptions, queryOptions } from "@tanstack/react-query";

import { api, unwrap } from "../client";
import { pollUnlessLive } from "../connection";
import type { MixChange, MixChangeCreate } from "../types";

import { jobKey } from "./job";
import { versionTag } from "./mix";

/** The key of the changes of a job's mix that wait, and of earlier ones. */
export const changesKey = (jobId: string) => [...jobKey(jobId), "changes"] as const;

const OPEN = ["needs_attention", "awaiting_approval", "scheduled"] as const;
const SETTLED = ["done", "rejected", "cancelled", "dismissed", "replaced", "expired"] as const;

const pagesOf = (jobId: string, which: "open" | "settled", limit: number) =>
  infiniteQueryOptions({
    queryKey: [...changesKey(jobId), which],
    queryFn: ({ signal, pageParam }) =>
      unwrap(
        api.GET("/api/v1/jobs/{job}/mix/changes", {
          params: {
            path: { job: jobId },
            query: {
              limit,
              state: which === "open" ? [...OPEN] : [...SETTLED],
              ...(pageParam && { cursor: pageParam }),
            },
          },
          signal,
        }),
      ),
    initialPageParam: "",
    getNextPageParam: (page) => page.next_cursor,
    refetchInterval: pollUnlessLive(2000),
  });

/** Changes that wait for a step, a time, an approval or somebody's attention; newest first. */
export const openChangesQuery = (jobId: string) => pagesOf(jobId, "open", 200);

/** What became of earlier changes, newest first. */
export const settledChangesQuery = (jobId: string) => pagesOf(jobId, "settled", 20);

/** One change, such as the one that a version was. */
export const changeQuery = (jobId: string, change: string) =>
  queryOptions({
    queryKey: [...changesKey(jobId), "one", change],
    queryFn: ({ signal }) =>
      unwrap(
        api.GET("/api/v1/jobs/{job}/mix/changes/{change}", {
          params: { path: { job: jobId, change } },
          signal,
        }),
      ),
  });

/** Has the mix change at a step or at a time, on top of version `basis`; ApiProblem 412 when that is not the newest. */
export const scheduleMix = (
  jobId: string,
  basis: number,
  change: MixChangeCreate,
): Promise<MixChange> =>
  unwrap(
    api.POST("/api/v1/jobs/{job}/mix/changes", {
      params: { path: { job: jobId }, header: { "if-match": versionTag(basis) } },
      body: change,
    }),
  );

/** Cancels a change that waits, or dismisses one that needs attention; an empty reason is none. */
export const withdrawChange = (jobId: string, change: string, reason: string): Promise<MixChange> =>
  unwrap(
    api.DELETE("/api/v1/jobs/{job}/mix/changes/{change}", {
      params: { path: { job: jobId, change }, query: reason === "" ? {} : { reason } },
    }),
  );

/** Lets a change of somebody else have its way; an empty reason is none. */
export const approveChange = (jobId: string, change: string, reason: string): Promise<MixChange> =>
  unwrap(
    api.POST("/api/v1/jobs/{job}/mix/changes/{change}/approve", {
      params: { path: { job: jobId, change } },
      body: reason === "" ? {} : { reason },
    }),
  );

/** Refuses a change for good. */
export const rejectChange = (jobId: string, change: string, reason: string): Promise<MixChange> =>
  unwrap(
    api.POST("/api/v1/jobs/{job}/mix/changes/{change}/reject", {
      params: { path: { job: jobId, change } },
      body: { reason },
    }),
  );
