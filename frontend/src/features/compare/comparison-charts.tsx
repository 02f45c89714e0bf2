import { useComputedColorScheme } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";

import {
  comparisonQuery,
  type ComparisonAxis,
  type ComparisonMetric,
} from "@/api/queries/comparison";
import type { Figure, Job } from "@/api/types";
import { FigureFrame } from "@/charts/figure-card";

import classes from "./compare-page.module.css";

const NAMES: Record<ComparisonMetric, Figure["name"]> = {
  tokens_per_s: "compare-throughput",
  wait_share: "compare-wait",
  loss: "compare-loss",
  share: "compare-share",
};

interface Props {
  jobs: readonly Job[];
  x: ComparisonAxis;
  metric: ComparisonMetric | undefined;
  source: string;
}

/** One chart a measure, a line a job; losses in all and of one source, and how much of that source was delivered. */
export function ComparisonCharts({ jobs, x, metric, source }: Props) {
  const all: readonly { metric: ComparisonMetric; source?: string }[] = [
    { metric: "tokens_per_s" },
    { metric: "wait_share" },
    { metric: "loss" },
    ...(source === ""
      ? []
      : [{ metric: "loss", source } as const, { metric: "share", source } as const]),
  ];
  const shown = all.filter((chart) => metric === undefined || chart.metric === metric);
  return (
    <div className={classes.charts}>
      {shown.map((chart) => (
        <ComparisonChart
          key={`${chart.metric} ${chart.source === undefined ? "all" : "one"}`}
          jobs={jobs}
          x={x}
          {...chart}
        />
      ))}
    </div>
  );
}

interface ChartProps {
  jobs: readonly Job[];
  x: ComparisonAxis;
  metric: ComparisonMetric;
  source?: string;
}

function ComparisonChart({ jobs, x, metric, source }: ChartProps) {
  const theme = useComputedColorScheme("light");
  const ids = jobs.map(({ id }) => id);
  const query = useQuery(comparisonQuery({ jobs: ids, metric, x, source, theme }));
  const label = source === undefined ? "" : `-${source}`;
  return (
    <FigureFrame
      query={query}
      jobName={`${jobs.length}-jobs${label}`}
      name={NAMES[metric]}
      x="step"
      drawing={`${x} ${ids.join(",")} ${source ?? ""}`}
    />
  );
}
