import type { XAxis } from "@/api/queries/figure";

import classes from "./job-page.module.css";

/** What the service keeps of a job, by its names in the API. */
const KEPT = [
  ["reports", "Reports of all ranks"],
  ["ranks", "Latest of each rank"],
  ["series", "Minutes of the job"],
  ["sources", "Steps of each source"],
  ["mix", "Mix versions"],
  ["activations", "Agreed steps"],
  ["attempts", "Attempts"],
  ["audit", "Audit log"],
] as const;

/** The job on one page to keep, and everything that is kept of it as files. */
export function ExportMenu({ jobId, x }: { jobId: string; x: XAxis }) {
  const base = `/api/v1/jobs/${jobId}`;
  return (
    <details className={classes.export}>
      <summary>Export</summary>
      <div className={classes.menu}>
        <p>
          <a href={`${base}/report.html?x=${x}`} target="_blank" rel="noreferrer">
            Report, one page of HTML
          </a>
        </p>
        <ul>
          {KEPT.map(([what, label]) => (
            <li key={what}>
              <span>{label}</span>
              <a
                href={`${base}/export?what=${what}&format=csv`}
                aria-label={`${label} as CSV`}
                download
              >
                CSV
              </a>
              <a
                href={`${base}/export?what=${what}&format=parquet`}
                aria-label={`${label} as Parquet`}
                download
              >
                Parquet
              </a>
            </li>
          ))}
        </ul>
      </div>
    </details>
  );
}
