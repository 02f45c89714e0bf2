import type { ReactNode } from "react";

import classes from "./record-table.module.css";

interface TableProps {
  label: string;
  /** One a column; an empty one heads the column of buttons. */
  columns: readonly string[];
  children: ReactNode;
}

/** A short table of records; roles are given because a narrow screen lays the rows out as cards. */
export function RecordTable({ label, columns, children }: TableProps) {
  return (
    <table role="table" className={classes.table} aria-label={label}>
      <thead role="rowgroup">
        <tr role="row">
          {columns.map((column) => (
            <th key={column} role="columnheader" scope="col">
              {column === "" ? <span className={classes.hidden}>Actions</span> : column}
            </th>
          ))}
        </tr>
      </thead>
      <tbody role="rowgroup">{children}</tbody>
    </table>
  );
}

/** One record; `name` heads its row. */
export function RecordRow({ name, children }: { name: ReactNode; children: ReactNode }) {
  return (
    <tr role="row" className={classes.row}>
      <th role="rowheader" scope="row" className={classes.name}>
        {name}
      </th>
      {children}
    </tr>
  );
}

/** A fact of a record; `label` is its column, said again where rows are cards. */
export function RecordCell({ label, children }: { label: string; children: ReactNode }) {
  return (
    <td role="cell" data-label={label} className={label === "" ? classes.actions : undefined}>
      {children}
    </td>
  );
}
