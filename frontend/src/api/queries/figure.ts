import { keepPreviousData, queryOptions } from "@tanstack/react-query";

import { api, unwrap } from "../client";
import { pollUnlessLive } from "../connection";

import { jobKey } from "./job";

/** The charts of a job, in the order they are shown. */
export const FIGURES = ["mix", "throughput", "wait", "loss", "epochs"] as const;
/** The charts of one rank, in the order they are shown. */
export const RANK_FIGURES = ["throughput", "wait", "queue", "memory"] as const;
/** A chart's name in the API. */
export type FigureName = (typeof FIGURES)[number] | (typeof RANK_FIGURES)[number];
/** What a chart runs over. */
export type XAxis = "step" | "time";
/** The theme a figure is coloured for. */
export type Theme = "light" | "dark";

/** More points than a chart has pixels only cost time. */
const MAX_POINTS = 600;

/** The key of all charts of a job. */
export const figuresKey = (jobId: string) => [...jobKey(jobId), "figures"] as const;

/**
 * A chart of the job, or of one rank, as the server drew it, with the same numbers as a table; the last one stays while
 * the next loads.
 */
export const figureQuery = (
  jobId: string,
  name: FigureName,
  x: XAxis,
  theme: Theme,
  rank?: number,
) =>
  queryOptions({
    queryKey: [...figuresKey(jobId), name, x, theme, rank ?? "all"],
    queryFn: ({ signal }) =>
      unwrap(
        api.GET("/api/v1/jobs/{job}/figures/{name}", {
          params: {
            path: { job: jobId, name },
            query: { x, theme, max_points: MAX_POINTS, ...(rank !== undefined && { rank }) },
          },
          signal,
        }),
      ),
    placeholderData: keepPreviousData,
    refetchInterval: pollUnlessLive(10_000),
  });
