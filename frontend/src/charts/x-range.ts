import type { ChartAxis, Range } from "@/api/queries/figure";
import type { Figure, FigureBody } from "@/api/types";

import { toWallClock } from "./local-times";

type Extent = NonNullable<Figure["extent"]>;

/** How many of what a range is told in make one of what the figure is drawn in: 60 where that is minutes. */
export const unitOf = ({ layout }: FigureBody): number =>
  (layout.meta as { x_unit_s?: number } | undefined)?.x_unit_s ?? 1;

/** A range as Plotly takes it: numbers, or times by the reader's clock. */
export const toPlotly = (range: Range, x: ChartAxis, unit = 1): readonly (number | string)[] =>
  x === "time"
    ? range.map((seconds) => toWallClock(new Date(seconds * 1000)))
    : range.map((end) => end / unit);

/** An end of Plotly's as a number; NaN for what is none. */
export const toNumber = (end: unknown): number => {
  if (typeof end === "number") return end;
  // Without a zone a date is read by the reader's clock, as it was written.
  return typeof end === "string" ? Date.parse(end.replace(" ", "T")) / 1000 : NaN;
};

/** The part of the x axis that a change of the layout shows; undefined where it is about something else. */
export function rangeOf(change: Record<string, unknown>, unit = 1): Range | undefined {
  const whole = change["xaxis.range"];
  const [low, high] = Array.isArray(whole)
    ? [toNumber(whole[0]), toNumber(whole[1])]
    : [toNumber(change["xaxis.range[0]"]), toNumber(change["xaxis.range[1]"])];
  return Number.isFinite(low) && Number.isFinite(high) && low < high
    ? [low * unit, high * unit]
    : undefined;
}

/** A range that stands in the address: whole steps and tokens, times to the millisecond. */
export const tidy = ([low, high]: Range, x: ChartAxis): Range =>
  x === "time" || x === "elapsed"
    ? [Math.round(low * 1000) / 1000, Math.round(high * 1000) / 1000]
    : [Math.max(0, Math.floor(low)), Math.max(1, Math.ceil(high))];

/** What all of these reach over together; null where none has anything. */
export function unionOf(extents: readonly (Extent | null | undefined)[]): Range | null {
  const known = extents.filter((extent) => extent != null);
  if (known.length === 0) return null;
  const low = Math.min(...known.map((extent) => extent.low));
  const high = Math.max(...known.map((extent) => extent.high));
  return low < high ? [low, high] : null;
}
