import type { Figure, FigureTable as Table } from "@/api/types";
import { Moment } from "@/components/time";
import { formatCount, UNKNOWN } from "@/lib/format";

import classes from "./figure-table.module.css";
import { fromUtc } from "./local-times";
import { TraceLink } from "./record-links";
import { stepColumn } from "./traced-step";

type Cell = Table["rows"][number][number];

/** Six significant digits, grouped where whole; texts as they are. */
function cellText(cell: Cell): string {
  if (cell === null) return UNKNOWN;
  if (typeof cell !== "number") return cell;
  return Number.isInteger(cell) ? formatCount(cell) : String(Number(cell.toPrecision(6)));
}

interface Props {
  /** Left out, steps are plain numbers. */
  jobId: string | undefined;
  figure: Figure;
  label: string;
}

/**
 * The numbers of a chart, for whoever can't or won't read the picture; scrolls inside itself. A step leads to its
 * trace, as a click on the picture does; times are in the reader's zone.
 */
export function FigureTable({ jobId, figure: { table, extent }, label }: Props) {
  const steps = stepColumn(table);
  const isMoment = table.columns[0]?.unit === "UTC";
  const show = (cell: Cell, column: number) => {
    if (column === 0 && isMoment && typeof cell === "string")
      return <Moment at={fromUtc(cell).toISOString()} />;
    const isStep = column === steps && typeof cell === "number";
    if (jobId !== undefined && isStep && (column > 0 || (extent !== null && cell <= extent.high)))
      return <TraceLink jobId={jobId} step={cell} short />;
    return cellText(cell);
  };
  return (
    // A scrolling region must be reachable by keyboard.
    // eslint-disable-next-line jsx-a11y/no-noninteractive-tabindex
    <div className={classes.scroll} role="region" aria-label={label} tabIndex={0}>
      <table className={classes.table}>
        <thead>
          <tr>
            {table.columns.map((column, index) => (
              <th key={column.key} scope="col">
                {column.label}
                {column.unit !== "" && !(index === 0 && isMoment) && (
                  <span className={classes.unit}> {column.unit}</span>
                )}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {table.rows.map((row, index) => (
            <tr key={index}>
              {row.map((cell, column) => (
                <td key={table.columns[column]?.key ?? column}>{show(cell, column)}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
