import { infiniteQueryOptions, keepPreviousData, queryOptions } from "@tanstack/react-query";

import { api, unwrap } from "../client";
import { pollUnlessLive } from "../connection";
import type { MixChange, MixEdit, MixVersion } from "../types";

import { jobKey } from "./job";

/** The key of the newest version and of all versions. */
export const mixKey = (jobId: string) => [...jobKey(jobId), "mix"] as const;
/** The key of all versions. */
export const versionsKey = (jobId: string) => [...mixKey(jobId), "versions"] as const;

/** The entity tag of a version: what If-Match must name to change it. */
export const versionTag = (version: number) => `"v${version}"`;

/** The newest version of the mix, in force or on its way. */
export const mixQuery = (jobId: string) =>
  queryOptions({
    queryKey: [...mixKey(jobId), "newest"],
    queryFn: ({ signal }) =>
      unwrap(api.GET("/api/v1/jobs/{job}/mix", { params: { path: { job: jobId } }, signal })),
    refetchInterval: pollUnlessLive(2000),
  });

/** All versions, newest first, page by page. */
export const versionsQuery = (jobId: string) =>
  infiniteQueryOptions({
    queryKey: versionsKey(jobId),
    queryFn: ({ signal, pageParam }) =>
      unwrap(
        api.GET("/api/v1/jobs/{job}/mix/versions", {
          params: {
            path: { job: jobId },
            query: { limit: 50, ...(pageParam && { cursor: pageParam }) },
          },
          signal,
        }),
      ),
    initialPageParam: "",
    getNextPageParam: (page) => page.next_cursor,
    refetchInterval: pollUnlessLive(5000),
  });

/** What the server says the weights would do; `basis` makes a new newest version a new question. */
export const previewQuery = (
  jobId: string,
  basis: number,
  weights: Readonly<Record<string, number>>,
  rampSteps: number,
) =>
  queryOptions({
    queryKey: [...jobKey(jobId), "preview", basis, weights, rampSteps],
    queryFn: ({ signal }) =>
      unwrap(
        api.POST("/api/v1/jobs/{job}/mix/preview", {
          params: { path: { job: jobId } },
          body: { weights, ramp_steps: rampSteps },
          signal,
        }),
      ),
    placeholderData: keepPreviousData,
    retry: false,
    gcTime: 30_000,
  });

/** Whether what was sent waits for somebody else's approval, where the project requires one. */
export const isWaiting = (made: MixVersion | MixChange): made is MixChange => "state" in made;

/** Proposes new weights on top of version `basis`; ApiProblem 412 when it is no longer the newest. */
export const proposeMix = (
  jobId: string,
  basis: number,
  edit: MixEdit,
): Promise<MixVersion | MixChange> =>
  unwrap(
    api.PUT("/api/v1/jobs/{job}/mix", {
      params: { path: { job: jobId }, header: { "if-match": versionTag(basis) } },
      body: edit,
    }),
  );

/** Proposes the weights of an earlier version again, as a new version on top of `basis`. */
export const revertMix = (
  jobId: string,
  basis: number,
  version: number,
  reason: string,
): Promise<MixVersion | MixChange> =>
  unwrap(
    api.POST("/api/v1/jobs/{job}/mix/versions/{version}/revert", {
      params: { path: { job: jobId, version }, header: { "if-match": versionTag(basis) } },
      body: { reason },
    }),
  );

/** Stops a source at once, whoever else edits; the others share its weight in proportion. */
export const pauseSource = (jobId: string, source: string, reason: string): Promise<MixVersion> =>
  unwrap(
    api.POST("/api/v1/jobs/{job}/mix/pause", {
      params: { path: { job: jobId } },
      body: { source, reason },
    }),
  );

/** Gives a paused source its former weight back, on top of version `basis`; ApiProblem 412 when that is not the newest. */
export const resumeSource = (
  jobId: string,
  basis: number,
  source: string,
  reason: string,
): Promise<MixVersion | MixChange> =>
  unwrap(
    api.POST("/api/v1/jobs/{job}/mix/resume", {
      params: { path: { job: jobId }, header: { "if-match": versionTag(basis) } },
      body: { source, reason },
    }),
  );

/** Where the versions took effect: step and attempt, in the order of the steps. */
export const activationsQuery = (jobId: string) =>
  queryOptions({
    queryKey: [...mixKey(jobId), "activations"],
    queryFn: async ({ signal }) =>
      (
        await unwrap(
          api.GET("/api/v1/jobs/{job}/activations", { params: { path: { job: jobId } }, signal }),
        )
      ).items,
    refetchInterval: pollUnlessLive(5000),
  });
