import type { Figure } from "@/api/types";

type Table = Figure["table"];
type Cell = Table["rows"][number][number];

/** The column that says which step a row is best looked into at: that of its largest value, its own, or its x. */
export function stepColumn({ columns }: Table): number {
  const at = (key: string) => columns.findIndex((column) => column.key === key);
  for (const key of ["trace_step", "step"]) if (at(key) >= 0) return at(key);
  return columns[0]?.label === "step" ? 0 : -1;
}

const asStep = (cell: Cell | undefined) => (typeof cell === "number" && cell >= 0 ? cell : null);

/** The step to look into at a point of a chart; null where it has none, as in a forecast. */
export function stepAt(figure: Figure, curve: number, point: number): number | null {
  const xs = figure.figure.data[curve]?.x as readonly Cell[] | undefined;
  const row = figure.table.rows.find(([x]) => x === xs?.[point]);
  const step = asStep(row?.[stepColumn(figure.table)]);
  // A forecast has a row, and lies beyond what was trained.
  return row !== undefined && isTrained(figure, row[0]) ? step : null;
}

/** Whether an x is in the part with data. */
function isTrained({ extent, table }: Figure, x: Cell | undefined): boolean {
  if (extent === null) return false;
  if (typeof x === "number") return x <= extent.high;
  return table.columns[0]?.unit === "UTC";
}
