import { queryOptions } from "@tanstack/react-query";

import { api, unwrap } from "../client";
import { pollUnlessLive } from "../connection";

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
