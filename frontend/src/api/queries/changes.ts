import { infiniteQueryOptions } from "@tanstack/react-query";

import { api, unwrap } from "../client";
import { pollUnlessLive } from "../connection";

import { jobKey } from "./job";

/** The key of the changes of a job's mix that wait, and of earlier ones. */
export const changesKey = (jobId: string) => [...jobKey(jobId), "changes"] as const;

/** Changes that wait for a step, a time or an approval, and what became of earlier ones; newest first. */
export const changesQuery = (jobId: string) =>
  infiniteQueryOptions({
    queryKey: changesKey(jobId),
    queryFn: ({ signal, pageParam }) =>
      unwrap(
        api.GET("/api/v1/jobs/{job}/mix/changes", {
          params: {
            path: { job: jobId },
            query: { limit: 100, ...(pageParam && { cursor: pageParam }) },
          },
          signal,
        }),
      ),
    initialPageParam: "",
    getNextPageParam: (page) => page.next_cursor,
    refetchInterval: pollUnlessLive(2000),
  });
