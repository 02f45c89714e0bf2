import { memo } from "react";

import type { JobListed } from "@/api/types";
import { formatAge } from "@/lib/time";
import { useNow } from "@/lib/use-now";

import { JobRow } from "./job-row";
import classes from "./jobs-page.module.css";

const COLUMNS = [
  { label: "Compare", hidden: true },
  { label: "Job" },
  { label: "State" },
  { label: "Step" },
  { label: "Speed", number: true },
  { label: "Ranks live", number: true },
  { label: "Data wait", number: true },
  { label: "Mix" },
  { label: "Owner, age" },
] as const;

interface Props {
  jobs: readonly JobListed[];
  selected: ReadonlySet<string>;
  maxSelected: number;
  onSelect: (id: string, selected: boolean) => void;
  mayOperate: boolean;
}

/** The jobs. Drawn again when they or a choice change, or when time changes an age; roles are given because a narrow screen lays the rows out as cards. */
export const JobsTable = memo(function JobsTable({
  jobs,
  selected,
  maxSelected,
  onSelect,
  mayOperate,
}: Props) {
  // One clock for all rows, and each is drawn again only when its words change.
  const now = useNow();
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
              {"hidden" in column ? (
                <span className={classes.hidden}>{column.label}</span>
              ) : (
                column.label
              )}
            </th>
          ))}
        </tr>
      </thead>
      <tbody role="rowgroup">
        {jobs.map((job) => (
          <JobRow
            key={job.id}
            job={job}
            age={formatAge(Date.parse(job.created_at), now)}
            selected={selected.has(job.id)}
            selectable={selected.size < maxSelected}
            onSelect={onSelect}
            mayOperate={mayOperate}
          />
        ))}
      </tbody>
    </table>
  );
});
