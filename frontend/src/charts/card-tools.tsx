import { SegmentedControl } from "@mantine/core";

import { shownParams, type FigureView } from "@/api/queries/figure";
import type { Figure } from "@/api/types";

import classes from "./figure-card.module.css";
import { downloadCsv, downloadPng } from "./figure-export";

/** A chart is a picture, or the same numbers as a table. */
export type View = "chart" | "table";

interface Props {
  figure: Figure;
  /** The job, and what of it is shown; left out, there is no page for the chart alone. */
  of?: { jobId: string; shows: FigureView } | undefined;
  jobName: string;
  view: View;
  onView: (view: View) => void;
}

/** The chart as a page of its own that needs nothing else; what is shown now, not what may be later. */
function pageOf(jobId: string, figure: Figure, shows: FigureView): string {
  const query = Object.entries({ figure: figure.name, ...shownParams(shows) });
  const search = new URLSearchParams(query.map(([name, value]) => [name, String(value)]));
  return `/api/v1/jobs/${jobId}/report.html?${search.toString()}`;
}

/** Chart or table, and the files of a chart. */
export function CardTools({ figure, of, jobName, view, onView }: Props) {
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
      {of && of.shows.rank === undefined && (
        <a
          className={classes.tool}
          href={pageOf(of.jobId, figure, of.shows)}
          target="_blank"
          rel="noreferrer"
          aria-label={`Open ${figure.title} as standalone HTML in a new tab`}
        >
          HTML
        </a>
      )}
    </div>
  );
}
