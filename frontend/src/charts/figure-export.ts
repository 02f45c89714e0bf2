import type { Figure } from "@/api/types";
import { toCsv } from "@/lib/csv";
import { downloadText, safeFilename } from "@/lib/download";

import { inertFigure } from "./inert-figure";
import { loadPlotly } from "./load-plotly";
import { plotConfig } from "./plot-config";

const PNG = { format: "png", width: 1200, height: 600, scale: 2 } as const;

/** The table of a figure as CSV: the header names each column with its unit. */
export function figureCsv({ table }: Figure): string {
  const header = table.columns.map(({ label, unit }) =>
    unit === "" ? label : `${label} (${unit})`,
  );
  return toCsv([header, ...table.rows]);
}

/** Offers the table of a figure as a file. */
export const downloadCsv = (figure: Figure, jobName: string) =>
  downloadText(safeFilename(`${jobName}-${figure.name}.csv`), "text/csv", figureCsv(figure));

/** Draws the whole figure at 2400 × 1200 pixels and offers it as a file. */
export async function downloadPng(
  figure: Figure,
  jobName: string,
  background: string,
): Promise<void> {
  const plotly = await loadPlotly();
  const { data, layout, config } = inertFigure(figure.figure);
  const solid = { ...layout, paper_bgcolor: background, title: { text: figure.title } };
  const url = await plotly.toImage({ data, layout: solid, config: plotConfig(config) }, PNG);
  const link = document.createElement("a");
  link.href = url;
  link.download = safeFilename(`${jobName}-${figure.name}.png`);
  link.click();
}
