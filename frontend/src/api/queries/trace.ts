import { keepPreviousData, queryOptions } from "@tanstack/react-query";

import { api, unwrap } from "../client";

import { jobKey } from "./job";

/** What the global batch of a step took from each source, and how sure the record of it is. */
export const traceQuery = (jobId: string, step: number) =>
  queryOptions({
    queryKey: [...jobKey(jobId), "trace", step],
    queryFn: ({ signal }) =>
      unwrap(
        api.GET("/api/v1/jobs/{job}/trace", {
          params: { path: { job: jobId }, query: { step } },
          signal,
        }),
      ),
    placeholderData: keepPreviousData,
  });
