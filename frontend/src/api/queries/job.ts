import { queryOptions } from "@tanstack/react-query";

import { api, unwrap } from "../client";
import { pollUnlessLive } from "../connection";
import type { Job } from "../types";

/** The key of everything that is kept of one job. */
export const jobKey = (jobId: string) => ["job", jobId] as const;

/** One job with its sources and its present state. */
export const jobQuery = (jobId: string) =>
  queryOptions({
    queryKey: [...jobKey(jobId), "detail"],
    queryFn: ({ signal }) =>
      unwrap(api.GET("/api/v1/jobs/{job}", { params: { path: { job: jobId } }, signal })),
    refetchInterval: pollUnlessLive(5000),
  });

/** What may be changed of a job's entry; what is left out stays. */
export interface JobChange {
  tags?: Record<string, string>;
  archived?: boolean;
}

/** Changes a job's tags, or whether it is archived. */
export const changeJob = (jobId: string, change: JobChange): Promise<Job> =>
  unwrap(api.PATCH("/api/v1/jobs/{job}", { params: { path: { job: jobId } }, body: change }));

/** How many alerts of a job are told of in its header. */
const MAX_ALERTS = 20;

/** The alerts that fire on a job now, acknowledged ones too. */
export const openAlertsQuery = (jobId: string) =>
  queryOptions({
    queryKey: ["alerts", "open", jobId],
    queryFn: ({ signal }) =>
      unwrap(
        api.GET("/api/v1/alerts", {
          params: { query: { job: jobId, state: ["firing", "acknowledged"], limit: MAX_ALERTS } },
          signal,
        }),
      ),
    refetchInterval: 10_000,
  });
