import type { FigureBody } from "@/api/types";
import type { NumberStyle } from "@/lib/number-style";

/** Formats with a metric prefix, on axes and in what hovering says, and what they are in full. */
const AXIS = "~s";
const HOVER = /(%\{[^}]*):\.\ds\}/g;

/** The figure with large numbers written as the reader wants them. */
export function withNumberStyle(figure: FigureBody, style: NumberStyle): FigureBody {
  if (style === "si") return figure;
  const axes = Object.entries(figure.layout).map(([key, value]) => {
    const axis = value as { tickformat?: string } | null;
    return [key, axis?.tickformat === AXIS ? { ...axis, tickformat: ",d" } : value];
  });
  return {
    ...figure,
    layout: Object.fromEntries(axes) as FigureBody["layout"],
    data: figure.data.map((trace) =>
      typeof trace.hovertemplate === "string"
        ? { ...trace, hovertemplate: trace.hovertemplate.replace(HOVER, "$1:,.0f}") }
        : trace,
    ),
  };
}
