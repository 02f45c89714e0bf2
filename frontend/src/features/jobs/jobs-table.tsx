import type { JobSummary } from "@/api/types";

import { JobRow } from "./job-row";
import classes from "./jobs-page.module.css";

const COLUMNS = [
  { label: "Job" },
  { label: "State" },
  { label: "Step" },
  { label: "Speed", number: true },
  { label: "Ranks live", number: true },
  { label: "Data wait", number: true },
  { label: "Mix" },
  { label: "Age", number: true },
] as const;

/** The jobs; roles are given because a narrow screen lays the rows out as cards. */
export function JobsTable({ jobs }: { jobs: readonly JobSummary[] }) {
  return (
    <table role="table" className={classes.table} aria-label="Jobs">
      <thead role="rowgroup">
        <tr role="row">
          {COLUMNS.map((column) => (
            <th
              key={column.label}
              role="columnheader"
              scope="col"
              className={"number" in column ? classes.number : undefined}
            >
              {column.label}
            </th>
          ))}
        </tr>
      </thead>
      <tbody role="rowgroup">
        {jobs.map((job) => (
          <JobRow key={job.id} job={job} />
        ))}
      </tbody>
    </table>
  );
}
