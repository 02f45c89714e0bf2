import { keepPreviousData, queryOptions } from "@tanstack/react-query";

import { api, unwrap } from "../client";

import type { ChartAxis, Range, Theme } from "./figure";

/** Of several jobs: how fast they go, how long they wait for data, their losses, and the share of a source. */
export type ComparisonMetric = "tokens_per_s" | "wait_share" | "loss" | "share";
/** Steps, tokens, or the time since each job first started. */
export type ComparisonAxis = Exclude<ChartAxis, "time">;

/** Which chart of which jobs, in the order of their colours. */
export interface Comparison {
  jobs: readonly string[];
  metric: ComparisonMetric;
  x: ComparisonAxis;
  /** Null: all there is. */
  range: Range | null;
  source?: string | undefined;
  theme: Theme;
}

const MAX_POINTS = 400;
/** Several jobs are compared to learn, not to watch. */
const REFRESH_MS = 15_000;

/** A chart of several jobs as the server drew it, with the same numbers as a table. */
export const comparisonQuery = ({ jobs, metric, x, range, source, theme }: Comparison) => {
  const [first = "", ...others] = jobs;
  return queryOptions({
    queryKey: ["comparison", jobs, metric, x, range, source ?? "", theme],
    queryFn: ({ signal }) =>
      unwrap(
        api.GET("/api/v1/jobs/{job}/comparison/{metric}", {
          params: {
            path: { job: first, metric },
            query: {
              with: others,
              x,
              theme,
              max_points: MAX_POINTS,
              ...(range && { from: range[0], to: range[1] }),
              ...(source && { source }),
            },
          },
          signal,
        }),
      ),
    placeholderData: keepPreviousData,
    refetchInterval: REFRESH_MS,
    enabled: first !== "",
  });
};
