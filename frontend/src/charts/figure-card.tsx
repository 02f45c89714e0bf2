import { Skeleton, useComputedColorScheme } from "@mantine/core";
import { useMediaQuery } from "@mantine/hooks";
import { useQuery, useQueryClient, type UseQueryResult } from "@tanstack/react-query";
import { useId, useRef, useState, type RefObject } from "react";

import {
  figureQuery,
  type ChartAxis,
  type FigureName,
  type FigureView,
  type Range,
  type XAxis,
} from "@/api/queries/figure";
import type { Figure } from "@/api/types";
import card from "@/components/card.module.css";
import { ErrorState } from "@/components/page-states";

import { CardTools, type View } from "./card-tools";
import { ChartBody } from "./chart-body";
import classes from "./figure-card.module.css";
import type { HoverLink } from "./hover-link";
import { useInView } from "./use-in-view";

/** What the charts of a page share: one x range, one smoothing, one pointer. */
export interface ChartLink {
  /** What the reader zoomed into; null for all. */
  range: Range | null;
  /** What is shown then: the range, or what all charts reach over together. */
  shown: Range | null;
  smooth: number;
  onRange: (range: Range | null) => void;
  hoverLink: HoverLink;
}

interface Props {
  jobId: string;
  jobName: string;
  name: FigureName;
  x: XAxis;
  /** Of one rank; left out, of the job. */
  rank?: number;
  /** Left out, the chart is zoomed by itself. */
  link?: ChartLink;
}

/** Below this a chart has room for few labels. */
export const NARROW = "(max-width: 600px)";

/** A chart of a job, or of one of its ranks. */
export function FigureCard({ jobId, jobName, name, x, rank, link }: Props) {
  const scheme = useComputedColorScheme("light");
  const [own, setOwn] = useState<Range | null>(null);
  const ref = useRef<HTMLElement>(null);
  const inView = useInView(ref);
  const isNarrow = useMediaQuery(NARROW, false);
  const range = link ? link.range : own;
  const shows: FigureView = { x, range, smooth: link?.smooth ?? 0, isNarrow, rank };
  const options = figureQuery(jobId, name, shows, scheme);
  const known = useQueryClient().getQueryData(options.queryKey);
  // Far from the window a chart is drawn once and then left alone until it comes near.
  const query = useQuery({ ...options, enabled: inView || known === undefined });
  return (
    <FigureFrame
      frameRef={ref}
      query={query}
      of={{ jobId, shows }}
      jobName={jobName}
      name={name}
      x={x}
      zoom={link ?? { range, shown: own, onRange: setOwn }}
    />
  );
}

interface FrameProps {
  query: UseQueryResult<Figure>;
  /** The job, and what of it is shown; left out, it is of several jobs, and no point of it leads to a record. */
  of?: { jobId: string; shows: FigureView };
  /** What its files are named after. */
  jobName: string;
  name: Figure["name"];
  /** What it runs over. */
  x: ChartAxis;
  /** Another drawing than the last one, besides by its x; left out, only by that. */
  drawing?: string;
  zoom: Zoom;
  frameRef?: RefObject<HTMLElement | null>;
}

/** The part of a chart that is shown, and who is told of another. */
export type Zoom = Pick<ChartLink, "range" | "shown" | "onRange"> &
  Partial<Pick<ChartLink, "hoverLink">>;

/** The card of any figure that the server draws: its title, what it means, its numbers as a table, both as files. */
export function FigureFrame({ query, of, jobName, name, x, drawing, zoom, frameRef }: FrameProps) {
  const [view, setView] = useState<View>("chart");
  const titleId = useId();
  const { range, shown, onRange, hoverLink } = zoom;
  const figure = query.data;
  return (
    <section ref={frameRef} className={card.card} aria-labelledby={titleId} data-figure={name}>
      <header className={classes.head}>
        <h2 id={titleId} className={classes.title}>
          {figure?.title ?? name}
        </h2>
        {figure && (
          <CardTools figure={figure} of={of} jobName={jobName} view={view} onView={setView} />
        )}
      </header>
      {figure && <p className={classes.description}>{figure.description}</p>}
      {query.isError && <ErrorState error={query.error} onRetry={() => void query.refetch()} />}
      {query.isPending && <Skeleton height={280} radius="sm" />}
      {figure && (
        // Another x is another drawing.
        <ChartBody
          key={`${x} ${drawing ?? ""}`}
          jobId={of?.jobId}
          figure={figure}
          x={x}
          view={view}
          range={range}
          shown={shown}
          onRange={onRange}
          hoverLink={hoverLink}
        />
      )}
    </section>
  );
}
