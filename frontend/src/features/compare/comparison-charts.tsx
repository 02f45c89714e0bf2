import { useComputedColorScheme } from "@mantine/core";
import { useQueries, type UseQueryResult } from "@tanstack/react-query";
import { useState } from "react";

import {
  comparisonQuery,
  type ComparisonAxis,
  type ComparisonMetric,
} from "@/api/queries/comparison";
import type { Range } from "@/api/queries/figure";
import type { Figure, Job } from "@/api/types";
import { FigureFrame, type Zoom } from "@/charts/figure-card";
import { HoverLink } from "@/charts/hover-link";
import { tidy, unionOf } from "@/charts/x-range";

import classes from "./compare-page.module.css";

const NAMES: Record<ComparisonMetric, Figure["name"]> = {
  tokens_per_s: "compare-throughput",
  wait_share: "compare-wait",
  loss: "compare-loss",
  share: "compare-share",
};

/** What one of the charts is of. */
interface Measure {
  metric: ComparisonMetric;
  source?: string;
}

interface Props {
  jobs: readonly Job[];
  x: ComparisonAxis;
  metric: ComparisonMetric | undefined;
  source: string;
  /** What the reader zoomed into; null for all. */
  range: Range | null;
  onRange: (range: Range | null) => void;
}

/**
 * One chart a measure, a line a job; losses in all and of one source, and how much of that source was delivered. A
 * zoom or a pointer in one is in all.
 */
export function ComparisonCharts({ jobs, x, metric, source, range, onRange }: Props) {
  const theme = useComputedColorScheme("light");
  const [hoverLink] = useState(() => new HoverLink());
  const ids = jobs.map(({ id }) => id);
  const shown = measures(source).filter((each) => metric === undefined || each.metric === metric);
  const queries = useQueries({
    queries: shown.map((each) => comparisonQuery({ jobs: ids, x, range, theme, ...each })),
  });
  const zoom: Zoom = {
    range,
    shown: range ?? unionOf(queries.map(({ data }) => data?.extent)),
    onRange: (next) => onRange(next && tidy(next, x)),
    hoverLink,
  };
  return (
    <div className={classes.charts}>
      {shown.map((each, place) => (
        <FigureFrame
          key={`${each.metric} ${each.source === undefined ? "all" : "one"}`}
          query={queries[place] as UseQueryResult<Figure>}
          jobName={`${jobs.length}-jobs${each.source === undefined ? "" : `-${each.source}`}`}
          name={NAMES[each.metric]}
          x={x}
          drawing={`${ids.join(",")} ${each.source ?? ""}`}
          zoom={zoom}
        />
      ))}
    </div>
  );
}

const measures = (source: string): readonly Measure[] => [
  { metric: "tokens_per_s" },
  { metric: "wait_share" },
  { metric: "loss" },
  ...(source === ""
    ? []
    : [{ metric: "loss", source } as const, { metric: "share", source } as const]),
];
