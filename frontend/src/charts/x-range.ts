import type { Range, XAxis } from "@/api/queries/figure";
import type { Figure } from "@/api/types";

import { toWallClock } from "./local-times";

type Extent = NonNullable<Figure["extent"]>;

/** A range as Plotly takes it: numbers, or times by the reader's clock. */
export const toPlotly = (range: Range, x: XAxis): readonly (number | string)[] =>
  x === "time" ? range.map((seconds) => toWallClock(new Date(seconds * 1000))) : range;

const toNumber = (end: unknown): number => {
  if (typeof end === "number") return end;
  // Without a zone a date is read by the reader's clock, as it was written.
  return typeof end === "string" ? Date.parse(end.replace(" ", "T")) / 1000 : NaN;
};

/** The part of the x axis that a change of the layout shows; undefined where it is about something else. */
export function rangeOf(change: Record<string, unknown>): Range | undefined {
  const whole = change["xaxis.range"];
  const [low, high] = Array.isArray(whole)
    ? [toNumber(whole[0]), toNumber(whole[1])]
    : [toNumber(change["xaxis.range[0]"]), toNumber(change["xaxis.range[1]"])];
  return Number.isFinite(low) && Number.isFinite(high) && low < high ? [low, high] : undefined;
}

/** A range that stands in the address: whole steps and tokens, times to the millisecond. */
export const tidy = ([low, high]: Range, x: XAxis): Range =>
  x === "time"
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
