import { Switch } from "@mantine/core";
import { useId, useState } from "react";

import type { Job } from "@/api/types";
import card from "@/components/card.module.css";
import { NumberTable } from "@/components/number-table";
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
    <section className={`${card.card} ${classes.card}`} aria-labelledby={titleId}>
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
        <NumberTable
          bare
          label={`${title}, as a table`}
          columns={[
            noun.charAt(0).toUpperCase() + noun.slice(1),
            ...jobs.map(({ id, name }) => ({ key: id, name })),
          ]}
        >
          {shown.map(({ label, cells, differs }) => (
            <tr key={label} className={differs ? undefined : classes.same}>
              <th scope="row">{label}</th>
              {cells.map((cell, place) => (
                <td key={jobs[place]?.id ?? place}>{cell}</td>
              ))}
            </tr>
          ))}
        </NumberTable>
      )}
    </section>
  );
}
