import type { Range } from "@/api/queries/figure";
import type { FigureBody } from "@/api/types";

type Trace = FigureBody["data"][number];

function cut(trace: Trace, high: number): Trace | null {
  const [from, to] = trace.x as [unknown, unknown];
  const [now, end] = trace.y as [number, number];
  if (typeof from !== "number" || typeof to !== "number" || to <= high) return trace;
  if (from >= high) return null;
  const there = now + ((end - now) * (high - from)) / (to - from);
  return { ...trace, mode: "lines", x: [from, high], y: [now, there] };
}

/**
 * The figure with its forecasts cut where what is shown ends: Plotly fits the y axis to all there is, and a far end
 * would press what is shown into a line.
 */
export function cutForecasts(figure: FigureBody, range: Range | null): FigureBody {
  if (range === null) return figure;
  const data = figure.data.map((trace) =>
    trace.meta === "forecast" ? cut(trace, range[1]) : trace,
  );
  return { ...figure, data: data.filter((trace) => trace !== null) };
}
