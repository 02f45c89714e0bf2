import { queryOptions } from "@tanstack/react-query";

import { api, unwrap } from "../client";
import { pollUnlessLive } from "../connection";

import { jobKey } from "./job";

/** The starts of a job, oldest first. */
export const attemptsQuery = (jobId: string) =>
  queryOptions({
    queryKey: [...jobKey(jobId), "attempts"],
    queryFn: async ({ signal }) =>
      (
        await unwrap(
          api.GET("/api/v1/jobs/{job}/attempts", { params: { path: { job: jobId } }, signal }),
        )
      ).items,
    refetchInterval: pollUnlessLive(5000),
  });
