import { useComputedColorScheme } from "@mantine/core";
import { useMediaQuery } from "@mantine/hooks";
import { useQueries } from "@tanstack/react-query";
import { useState } from "react";

import { figureQuery, FIGURES, type Range } from "@/api/queries/figure";
import type { Job } from "@/api/types";
import { chosenRange } from "@/charts/chart-search";
import { FigureCard, NARROW } from "@/charts/figure-card";
import { HoverLink } from "@/charts/hover-link";
import { tidy, unionOf } from "@/charts/x-range";

import { axisOf, withRange, type ChartsSearch } from "./charts-search";
import classes from "./job-page.module.css";
import { MarksList } from "./marks-list";

interface Props {
  job: Job;
  search: ChartsSearch;
  onSearch: (search: ChartsSearch) => void;
}

/** The charts, one width under one x axis: a zoom or a pointer in one is in all. */
export function JobCharts({ job, search, onSearch }: Props) {
  const [hoverLink] = useState(() => new HoverLink());
  const x = axisOf(search);
  const range = chosenRange(search);
  const { extent, marks } = useFigures(job.id, search);
  const shown = range ?? extent;
  const link = {
    range,
    shown,
    smooth: search.smooth ?? 0,
    onRange: (next: Range | null) => onSearch(withRange(search, next && tidy(next, x))),
    hoverLink,
  };
  return (
    <>
      <div className={classes.charts}>
        {FIGURES.map((name) => (
          <FigureCard key={name} jobId={job.id} jobName={job.name} name={name} x={x} link={link} />
        ))}
      </div>
      <MarksList jobId={job.id} marks={marks} />
    </>
  );
}

/** What all charts reach over together, and the marks they have; from what the charts themselves fetch. */
function useFigures(jobId: string, search: ChartsSearch) {
  const scheme = useComputedColorScheme("light");
  const isNarrow = useMediaQuery(NARROW, false);
  const shows = {
    x: axisOf(search),
    range: chosenRange(search),
    smooth: search.smooth ?? 0,
    isNarrow,
    rank: undefined,
  };
  return useQueries({
    queries: FIGURES.map((name) => ({
      ...figureQuery(jobId, name, shows, scheme),
      enabled: false,
    })),
    combine: (results) => ({
      extent: unionOf(results.map(({ data }) => data?.extent)),
      marks: results.find(({ data }) => data !== undefined)?.data?.marks ?? [],
    }),
  });
}
