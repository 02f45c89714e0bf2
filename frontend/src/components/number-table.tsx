import type { ReactNode } from "react";

import classes from "./number-table.module.css";

interface Props {
  label: string;
  /** One a column; the first heads the rows. Numbers stand to the right, `text` columns to the left. */
  columns: readonly (string | { key: string; name: string; text?: boolean })[];
  /** On a card that frames it already. */
  bare?: boolean;
  /** Rows, each with a `th` first. */
  children: ReactNode;
}

/** A table of numbers, as wide as it must be: where that is too wide it scrolls within itself. */
export function NumberTable({ label, columns, bare = false, children }: Props) {
  const heads = columns.map((column) =>
    typeof column === "string" ? { key: column, name: column } : column,
  );
  return (
    <div
      className={classes.scroll}
      data-bare={bare}
      role="region"
      aria-label={label}
      // A region that may scroll sideways must be reachable by keyboard.
      // eslint-disable-next-line jsx-a11y/no-noninteractive-tabindex
      tabIndex={0}
    >
      <table className={classes.table}>
        <thead>
          <tr>
            {heads.map(({ key, name, text }) => (
              <th key={key} scope="col" data-text={text}>
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>{children}</tbody>
      </table>
    </div>
  );
}
