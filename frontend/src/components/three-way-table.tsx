import { formatPpm } from "@/lib/format";
import type { Ppm } from "@/lib/units";

import { SourceName } from "./source-name";
import classes from "./three-way-table.module.css";

/** A source on the sides of a conflict, in ppm; `index` is its place in the job. */
export interface Sides {
  source: string;
  index: number;
  before: Ppm | null;
  theirs: Ppm;
  mine: Ppm;
  merged?: Ppm;
}

interface Props {
  rows: readonly Sides[];
  /** The columns' names. */
  before: string;
  theirs: string;
  mine: string;
  merged?: string;
}

/** What a mix was, what somebody else made of it, what this edit makes of it, and what both would be together. */
export function ThreeWayTable({ rows, before, theirs, mine, merged }: Props) {
  return (
    // A region that may scroll must be reachable by keyboard.
    // eslint-disable-next-line jsx-a11y/no-noninteractive-tabindex
    <div className={classes.scroller} role="region" aria-label="Sides of the conflict" tabIndex={0}>
      <table className={classes.table}>
        <thead>
          <tr>
            <th scope="col">Source</th>
            {[before, theirs, mine, ...(merged === undefined ? [] : [merged])].map((name) => (
              <th key={name} scope="col">
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={row.source}>
              <th scope="row">
                <SourceName name={row.source} index={row.index} />
              </th>
              <td>{formatPpm(row.before)}</td>
              <Side row={row} value={row.theirs} />
              <Side row={row} value={row.mine} />
              {merged !== undefined && <Side row={row} value={row.merged ?? row.mine} />}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Side({ row, value }: { row: Sides; value: Ppm }) {
  return <td data-changed={value !== row.before}>{formatPpm(value)}</td>;
}
