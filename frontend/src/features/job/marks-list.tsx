import { MarkLink, type Mark } from "@/charts/record-links";

import classes from "./job-page.module.css";

/** What the charts mark, as a list: for the keyboard, and where many marks share a label. */
export function MarksList({ jobId, marks }: { jobId: string; marks: readonly Mark[] }) {
  if (marks.length === 0) return null;
  return (
    <details className={classes.marks}>
      <summary>Marks in the charts ({marks.length})</summary>
      <ul aria-label="Marks in the charts">
        {marks.map((mark, index) => (
          <li key={index}>
            <MarkLink jobId={jobId} mark={mark} />
          </li>
        ))}
      </ul>
    </details>
  );
}
