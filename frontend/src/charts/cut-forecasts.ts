import type { ChartAxis, Range } from "@/api/queries/figure";
import type { FigureBody } from "@/api/types";

import { toNumber, toPlotly } from "./x-range";

type Trace = FigureBody["data"][number];

function cut(trace: Trace, high: number, x: ChartAxis): Trace | null {
  const [from, to] = (trace.x as unknown[]).map(toNumber);
  const [now, end] = trace.y as [number, number];
  if (from === undefined || to === undefined || !(to > high)) return trace;
  if (from >= high) return null;
  const there = now + ((end - now) * (high - from)) / (to - from);
  const [, edge] = toPlotly([from, high], x);
  return { ...trace, mode: "lines", x: [(trace.x as unknown[])[0], edge], y: [now, there] };
}

/**
 * The figure with its forecasts cut where what is shown ends: Plotly fits the y axis to all there is, and a far end
 * would press what is shown into a line. Times in it are by the reader's clock.
 */
export function cutForecasts(figure: FigureBody, range: Range | null, x: ChartAxis): FigureBody {
  if (range === null) return figure;
  const data = figure.data.map((trace) =>
    trace.meta === "forecast" ? cut(trace, range[1], x) : trace,
  );
  return { ...figure, data: data.filter((trace) => trace !== null) };
}
