/** What a CSV cell may hold; null is an empty one. */
export type Cell = string | number | boolean | null;

/** A text a spreadsheet would run as a formula; CSV has no types, so it gets a quote in front. */
const FORMULA = /^[=+\-@\t\r]/;

function encode(cell: Cell): string {
  if (cell === null) return "";
  if (typeof cell !== "string") return String(cell);
  const inert = FORMULA.test(cell) ? `'${cell}` : cell;
  return /[",\r\n]/.test(inert) ? `"${inert.replaceAll('"', '""')}"` : inert;
}

/** RFC 4180 text, CRLF line ends, one line a row, formulas made inert. */
export const toCsv = (rows: readonly (readonly Cell[])[]) =>
  rows.map((row) => `${row.map(encode).join(",")}\r\n`).join("");
