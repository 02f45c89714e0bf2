import type { System } from "@/api/types";
import { RecordCell, RecordRow, RecordTable } from "@/components/record-table";
import { plural } from "@/lib/format";

import classes from "./system.module.css";

interface Props {
  tables: System["partitions"];
  kind: System["database"]["kind"];
}

const day = (iso: string) => iso.slice(0, 10);
const days = (list: readonly string[]) =>
  list.length === 0
    ? "none"
    : `${list.slice(0, 3).map(day).join(", ")}${list.length > 3 ? ", …" : ""}`;

/** The daily partitions of tables that have them. Days are of UTC. */
export function Partitions({ tables, kind }: Props) {
  if (kind === "sqlite") {
    return (
      <p className={classes.dim}>
        SQLite has no partitions: what is older than it is kept is deleted row by row.
      </p>
    );
  }
  return (
    <RecordTable
      label="Partitions"
      columns={["Table", "Days", "From", "To", "Missing", "In the default one"]}
    >
      {tables.map((table) => (
        <RecordRow key={table.table} name={<code>{table.table}</code>}>
          <RecordCell label="Days">{plural(table.num_days, "day")}</RecordCell>
          <RecordCell label="From">{table.first === null ? "–" : day(table.first)}</RecordCell>
          <RecordCell label="To">{table.last === null ? "–" : day(table.last)}</RecordCell>
          <RecordCell label="Missing">
            <span className={table.missing.length > 0 ? classes.bad : undefined}>
              {days(table.missing)}
            </span>
          </RecordCell>
          <RecordCell label="In the default one">{days(table.strays)}</RecordCell>
        </RecordRow>
      ))}
    </RecordTable>
  );
}
