import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";

import type { ChartAxis, Range } from "@/api/queries/figure";
import type { Figure } from "@/api/types";

import type { View } from "./card-tools";
import classes from "./figure-card.module.css";
import { FigureTable } from "./figure-table";
import type { HoverLink } from "./hover-link";
import { PlotlyFigure } from "./plotly-figure";
import { MarkLink, recordOf, TraceLink, type Mark } from "./record-links";
import { stepAt } from "./traced-step";

interface Props {
  /** Left out, no point of the chart leads to a record. */
  jobId: string | undefined;
  figure: Figure;
  x: ChartAxis;
  view: View;
  range: Range | null;
  shown: Range | null;
  onRange: (range: Range | null) => void;
  hoverLink?: HoverLink | undefined;
}

/** What the reader clicked on last. */
type Picked = { step: number } | { marks: Mark[] } | null;

/** The picture with what can be done at a point of it, or its numbers. */
export function ChartBody({ jobId, figure, x, view, range, shown, onRange, hoverLink }: Props) {
  const navigate = useNavigate();
  const [picked, setPicked] = useState<Picked>(null);
  if (figure.table.rows.length === 0) {
    return (
      <p className={classes.empty}>
        {range === null ? "Nothing reported yet." : "Nothing in this part."}
      </p>
    );
  }
  if (view === "table") {
    return <FigureTable jobId={jobId} figure={figure} label={`${figure.title}, as a table`} />;
  }
  const onPoint = (curve: number, point: number) => {
    const step = stepAt(figure, curve, point);
    setPicked(step === null ? null : { step });
  };
  const onMark = (label: number) => {
    const marks = figure.marks.filter((mark) => mark.label === label);
    const [only] = marks;
    if (jobId === undefined) return;
    if (marks.length === 1 && only) void navigate({ ...recordOf(only), params: { jobId } });
    else if (marks.length > 1) setPicked({ marks });
  };
  return (
    <>
      <PlotlyFigure
        figure={figure.figure}
        label={`${figure.title}. ${figure.description}`}
        x={x}
        range={shown}
        onRange={onRange}
        onPoint={onPoint}
        onMark={onMark}
        hoverLink={hoverLink}
      />
      <div className={classes.foot} role="status">
        {jobId !== undefined && <PickedLinks jobId={jobId} picked={picked} />}
      </div>
    </>
  );
}

function PickedLinks({ jobId, picked }: { jobId: string; picked: Picked }) {
  if (picked === null) return null;
  if ("step" in picked) return <TraceLink jobId={jobId} step={picked.step} />;
  return (
    <>
      {picked.marks.map((mark, index) => (
        <MarkLink key={index} jobId={jobId} mark={mark} />
      ))}
    </>
  );
}
