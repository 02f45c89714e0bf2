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
export type XAxis = "step" | "tokens" | "time";
/** What a chart of one job, or of several, runs over: elapsed is the time since each job first started. */
export type ChartAxis = XAxis | "elapsed";
/** From where to where, in the units of the axis; times in Unix seconds, elapsed ones in seconds. */
export type Range = readonly [number, number];
/** The theme a figure is coloured for. */
export type Theme = "light" | "dark";

/** What a chart shows: over what, which part (null: all there is), how much smoothed, of one rank or of all. */
export interface FigureView {
  x: XAxis;
  range: Range | null;
  /** The window of the smoothing in percent of what is shown; 0 for none. */
  smooth: number;
  /** Narrow charts have room for fewer labels. */
  isNarrow: boolean;
  rank?: number | undefined;
}

/** All of a chart, by step, not smoothed. */
export const WHOLE_FIGURE: FigureView = { x: "step", range: null, smooth: 0, isNarrow: false };

/** More points than a chart has pixels only cost time. */
const MAX_POINTS = 600;
const NARROW_PX = 400;

/** The key of all charts of a job. */
export const figuresKey = (jobId: string) => [...jobKey(jobId), "figures"] as const;

/** The part of a figure's address that says what it shows; a page of its own takes the same. */
export const shownParams = ({ x, range, smooth }: FigureView) => ({
  x,
  ...(range && { from: range[0], to: range[1] }),
  ...(smooth > 0 && { smooth: smooth / 100 }),
});

/** A chart as the server drew it, with the same numbers as a table; the last one stays while the next loads. */
export const figureQuery = (jobId: string, name: FigureName, view: FigureView, theme: Theme) =>
  queryOptions({
    queryKey: [...figuresKey(jobId), name, view, theme],
    queryFn: ({ signal }) =>
      unwrap(
        api.GET("/api/v1/jobs/{job}/figures/{name}", {
          params: {
            path: { job: jobId, name },
            query: {
              ...shownParams(view),
              theme,
              max_points: MAX_POINTS,
              ...(view.isNarrow && { width_px: NARROW_PX }),
              ...(view.rank !== undefined && { rank: view.rank }),
            },
          },
          signal,
        }),
      ),
    placeholderData: keepPreviousData,
    refetchInterval: pollUnlessLive(10_000),
  });
