import { SegmentedControl, Skeleton, useComputedColorScheme } from "@mantine/core";
import { useQuery, type UseQueryResult } from "@tanstack/react-query";
import { useId, useState } from "react";

import { figureQuery, type FigureName, type XAxis } from "@/api/queries/figure";
import type { Figure } from "@/api/types";
import { ErrorState } from "@/components/page-states";

import classes from "./figure-card.module.css";
import { downloadCsv, downloadPng } from "./figure-export";
import { FigureTable } from "./figure-table";
import { PlotlyFigure } from "./plotly-figure";

interface Props {
  jobId: string;
  jobName: string;
  name: FigureName;
  x: XAxis;
  /** Of one rank; left out, of the job. */
  rank?: number;
}

type View = "chart" | "table";

/** A chart with its title, what it means, its numbers as a table, and both as files. */
export function FigureCard({ jobId, jobName, name, x, rank }: Props) {
  const scheme = useComputedColorScheme("light");
  const query = useQuery(figureQuery(jobId, name, x, scheme, rank));
  return <FigureFrame query={query} jobName={jobName} name={name} x={x} />;
}

interface FrameProps {
  query: UseQueryResult<Figure>;
  /** What its files are named after. */
  jobName: string;
  name: Figure["name"];
  /** What it runs over: another one is another drawing. */
  x: string;
}

/** The card of any figure that the server draws. */
export function FigureFrame({ query, jobName, name, x }: FrameProps) {
  const [view, setView] = useState<View>("chart");
  const titleId = useId();
  const figure = query.data;
  return (
    <section className={classes.card} aria-labelledby={titleId} data-figure={name}>
      <header className={classes.head}>
        <h2 id={titleId} className={classes.title}>
          {figure?.title ?? name}
        </h2>
        {figure && <CardTools figure={figure} jobName={jobName} view={view} onView={setView} />}
      </header>
      {figure && <p className={classes.description}>{figure.description}</p>}
      {query.isError && <ErrorState error={query.error} onRetry={() => void query.refetch()} />}
      {query.isPending && <Skeleton height={300} radius="sm" />}
      {/* A zoom into steps means nothing over time: another x is another drawing. */}
      {figure && <CardBody key={x} figure={figure} view={view} />}
    </section>
  );
}

function CardBody({ figure, view }: { figure: Figure; view: View }) {
  const [drawing, setDrawing] = useState(0);
  const [zoomed, setZoomed] = useState(false);
  if (figure.table.rows.length === 0) return <p className={classes.empty}>Nothing reported yet.</p>;
  if (view === "table") {
    return <FigureTable table={figure.table} label={`${figure.title}, as a table`} />;
  }
  const reset = () => {
    setZoomed(false);
    setDrawing(drawing + 1);
  };
  return (
    <div className={classes.body}>
      {zoomed && (
        <button type="button" className={classes.reset} onClick={reset}>
          Show all
        </button>
      )}
      <PlotlyFigure
        key={drawing}
        figure={figure.figure}
        label={`${figure.title}. ${figure.description}`}
        onZoom={setZoomed}
      />
    </div>
  );
}

interface ToolsProps {
  figure: Figure;
  jobName: string;
  view: View;
  onView: (view: View) => void;
}

function CardTools({ figure, jobName, view, onView }: ToolsProps) {
  const png = () => {
    const background = getComputedStyle(document.documentElement)
      .getPropertyValue("--hr-surface")
      .trim();
    void downloadPng(figure, jobName, background);
  };
  return (
    <div className={classes.tools}>
      <SegmentedControl
        aria-label={`${figure.title}: show as`}
        value={view}
        onChange={(next) => onView(next === "table" ? "table" : "chart")}
        data={[
          { value: "chart", label: "Chart" },
          { value: "table", label: "Table" },
        ]}
      />
      <button
        type="button"
        className={classes.tool}
        onClick={png}
        aria-label={`Download ${figure.title} as PNG`}
      >
        PNG
      </button>
      <button
        type="button"
        className={classes.tool}
        onClick={() => downloadCsv(figure, jobName)}
        aria-label={`Download ${figure.title} as CSV`}
      >
        CSV
      </button>
    </div>
  );
}
