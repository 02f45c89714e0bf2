import type { Job, RankState } from "@/api/types";
import { SourceName } from "@/components/source-name";
import { formatCount, formatShare, UNKNOWN } from "@/lib/format";
import { share } from "@/lib/units";

import { epochShare } from "./cursor-place";
import classes from "./rank-page.module.css";

/** For each source: the file and row of the rank's last sequence of it, and how far the source's epoch is. */
export function RankCursors({ rank, job }: { rank: Pick<RankState, "sources">; job: Job }) {
  const places = new Map(job.sources.map(({ name }, index) => [name, index]));
  return (
    <>
      <h2 className={classes.heading}>Where it reads</h2>
      {/* A region that may scroll sideways must be reachable by keyboard. */}
      {/* eslint-disable-next-line jsx-a11y/no-noninteractive-tabindex */}
      <div className={classes.scroll} role="region" aria-label="Cursors" tabIndex={0}>
        <table className={classes.table}>
          <thead>
            <tr>
              <th scope="col">Source</th>
              <th scope="col">File</th>
              <th scope="col">Row</th>
              <th scope="col">Epoch</th>
              <th scope="col">Of the epoch</th>
              <th scope="col">Sequences, all ranks</th>
            </tr>
          </thead>
          <tbody>
            {rank.sources.map((cursor) => {
              const part = epochShare(cursor, job);
              return (
                <tr key={cursor.name}>
                  <th scope="row">
                    <SourceName name={cursor.name} index={places.get(cursor.name) ?? 0} />
                  </th>
                  <td className={classes.path}>{cursor.file ?? "not read yet"}</td>
                  <td>{cursor.row === null ? UNKNOWN : formatCount(cursor.row)}</td>
                  <td>{formatCount(cursor.epoch)}</td>
                  <td>{formatShare(part === null ? null : share(part))}</td>
                  <td>{formatCount(cursor.ordinal)}</td>
                </tr>
              );
            })}
          </tbody>
        </table>
      </div>
    </>
  );
}
