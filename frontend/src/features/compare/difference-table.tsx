import { Switch } from "@mantine/core";
import { useId, useState } from "react";

import type { Job } from "@/api/types";
import { plural } from "@/lib/format";

import classes from "./compare-page.module.css";
import type { DifferenceRow } from "./differences";

interface Props {
  title: string;
  /** What the rows are of, as in "setting". */
  noun: string;
  jobs: readonly Job[];
  rows: readonly DifferenceRow[];
}

/** What the jobs don't share, a row each and a column a job; the rest when asked for. */
export function DifferenceTable({ title, noun, jobs, rows }: Props) {
  const [all, setAll] = useState(false);
  const titleId = useId();
  const differing = rows.filter(({ differs }) => differs);
  const same = rows.filter(({ differs }) => !differs);
  const shown = all ? [...differing, ...same] : differing;
  return (
    <section className={classes.card} aria-labelledby={titleId}>
      <header className={classes.head}>
        <h2 id={titleId}>{title}</h2>
        <Switch
          size="xs"
          label={`Show all (${plural(same.length, noun)} the same)`}
          checked={all}
          onChange={(event) => setAll(event.currentTarget.checked)}
        />
      </header>
      {shown.length === 0 ? (
        <p className={classes.none}>
          No {noun} differs: all {rows.length} are the same.
        </p>
      ) : (
        <div
          className={classes.scroll}
          role="region"
          aria-label={`${title}, as a table`}
          // A scrolling region must be reachable by keyboard.
          // eslint-disable-next-line jsx-a11y/no-noninteractive-tabindex
          tabIndex={0}
        >
          <table className={classes.table}>
            <thead>
              <tr>
                <th scope="col">{noun}</th>
                {jobs.map((job) => (
                  <th key={job.id} scope="col">
                    {job.name}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {shown.map(({ label, cells, differs }) => (
                <tr key={label} data-differs={differs}>
                  <th scope="row">{label}</th>
                  {cells.map((cell, place) => (
                    <td key={jobs[place]?.id ?? place}>{cell}</td>
                  ))}
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </section>
  );
}
