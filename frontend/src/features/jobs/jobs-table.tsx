import { useWindowVirtualizer } from "@tanstack/react-virtual";
import { memo, useLayoutEffect, useRef, useState } from "react";

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

/** A row of two lines; each is measured once it is there. */
const ROW_PX = 92;
/** Rows drawn beyond the edge of the window, which a key or a flick reaches next. */
const OVERSCAN = 10;

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
  const body = useRef<HTMLTableSectionElement>(null);
  const [top, setTop] = useState(0);
  useLayoutEffect(() => setTop(body.current?.offsetTop ?? 0), []);
  const rows = useWindowVirtualizer({
    count: jobs.length,
    estimateSize: () => ROW_PX,
    getItemKey: (index) => jobs[index]?.id ?? index,
    overscan: OVERSCAN,
    scrollMargin: top,
  });
  const shown = rows.getVirtualItems();
  const above = (shown[0]?.start ?? top) - top;
  const below = rows.getTotalSize() - ((shown.at(-1)?.end ?? top) - top);
  return (
    <table role="table" className={classes.table} aria-label="Jobs" aria-rowcount={jobs.length + 1}>
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
      <tbody role="rowgroup" ref={body}>
        <Space height={above} />
        {shown.map(({ index }) => {
          const job = jobs[index];
          return job === undefined ? null : (
            <JobRow
              key={job.id}
              job={job}
              index={index}
              measure={rows.measureElement}
              age={formatAge(Date.parse(job.created_at), now)}
              selected={selected.has(job.id)}
              selectable={selected.size < maxSelected}
              onSelect={onSelect}
              mayOperate={mayOperate}
            />
          );
        })}
        <Space height={below} />
      </tbody>
    </table>
  );
});

/** The room of the rows that are out of sight. */
function Space({ height }: { height: number }) {
  if (height <= 0) return null;
  return <tr aria-hidden="true" className={classes.space} style={{ height }} />;
}
