import type { Job, RankState } from "@/api/types";
import { NumberTable } from "@/components/number-table";
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
      <NumberTable
        label="Cursors"
        columns={[
          "Source",
          { key: "file", name: "File", text: true },
          "Row",
          "Epoch",
          "Of the epoch",
          "Sequences, all ranks",
        ]}
      >
        {rank.sources.map((cursor) => {
          const part = epochShare(cursor, job);
          return (
            <tr key={cursor.name}>
              <th scope="row">
                <SourceName name={cursor.name} index={places.get(cursor.name) ?? 0} />
              </th>
              <td data-text className={classes.path}>
                {cursor.file ?? "not read yet"}
              </td>
              <td>{cursor.row === null ? UNKNOWN : formatCount(cursor.row)}</td>
              <td>{formatCount(cursor.epoch)}</td>
              <td>{formatShare(part === null ? null : share(part))}</td>
              <td>{formatCount(cursor.ordinal)}</td>
            </tr>
          );
        })}
      </NumberTable>
    </>
  );
}
