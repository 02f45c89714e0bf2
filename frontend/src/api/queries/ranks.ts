import { queryOptions } from "@tanstack/react-query";

import { api, unwrap } from "../client";
import { pollUnlessLive } from "../connection";

import { jobKey } from "./job";

/** The latest state of every rank of the job's newest attempt. */
export const ranksQuery = (jobId: string) =>
  queryOptions({
    queryKey: [...jobKey(jobId), "ranks"],
    queryFn: ({ signal }) =>
      unwrap(api.GET("/api/v1/jobs/{job}/ranks", { params: { path: { job: jobId } }, signal })),
    refetchInterval: pollUnlessLive(5000),
  });
