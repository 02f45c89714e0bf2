import type { FigureTable as Table } from "@/api/types";
import { formatCount, UNKNOWN } from "@/lib/format";

import classes from "./figure-table.module.css";

type Cell = Table["rows"][number][number];

/** Six significant digits, grouped where whole; texts as they are. */
function cellText(cell: Cell): string {
  if (cell === null) return UNKNOWN;
  if (typeof cell !== "number") return cell;
  return Number.isInteger(cell) ? formatCount(cell) : String(Number(cell.toPrecision(6)));
}

/** The numbers of a chart, for whoever can't or won't read the picture; scrolls inside itself. */
export function FigureTable({ table, label }: { table: Table; label: string }) {
  return (
    // A scrolling region must be reachable by keyboard.
    // eslint-disable-next-line jsx-a11y/no-noninteractive-tabindex
    <div className={classes.scroll} role="region" aria-label={label} tabIndex={0}>
      <table className={classes.table}>
        <thead>
          <tr>
            {table.columns.map((column) => (
              <th key={column.key} scope="col">
                {column.label}
                {column.unit !== "" && <span className={classes.unit}> {column.unit}</span>}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {table.rows.map((row, index) => (
            <tr key={index}>
              {row.map((cell, column) => (
                <td key={table.columns[column]?.key ?? column}>{cellText(cell)}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
