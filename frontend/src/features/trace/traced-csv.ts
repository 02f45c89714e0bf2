import { toCsv } from "@/lib/csv";

import type { TracedFile } from "./traced-file";

/** So many rows are written before the page gets its turn again. */
const CHUNK = 5000;
const HEAD = ["slot", "source", "path", "row", "start (token)", "end (token)"];

/** The rows as the parts of a CSV file, made a little at a time. */
export async function csvParts(file: TracedFile, rows: Uint32Array): Promise<string[]> {
  const texts = file.texts;
  const parts = [toCsv([texts === null ? HEAD : [...HEAD, "text"]])];
  for (let first = 0; first < rows.length; first += CHUNK) {
    const lines = [...rows.subarray(first, first + CHUNK)].map((at) => [
      file.slot[at] ?? null,
      file.sources[file.source[at] ?? 0] ?? null,
      file.paths[file.path[at] ?? 0] ?? null,
      file.row[at] ?? null,
      file.start[at] ?? null,
      file.end[at] ?? null,
      ...(texts === null ? [] : [texts[at] ?? null]),
    ]);
    parts.push(toCsv(lines));
    await new Promise((resolve) => setTimeout(resolve, 0));
  }
  return parts;
}
