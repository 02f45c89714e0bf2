import type { ChartAxis, Range } from "@/api/queries/figure";

/** Which part of the x axis the charts of a page show, as it stands in the address; left out, all of it. */
export interface RangeSearch {
  from?: number;
  to?: number;
}

const finite = (value: unknown) =>
  typeof value === "number" && Number.isFinite(value) ? value : null;

/** Reads a range of the address; one that makes no sense is left out. */
export function rangeSearch(search: Record<string, unknown>): RangeSearch {
  const [from, to] = [finite(search.from), finite(search.to)];
  return from !== null && to !== null && from < to ? { from, to } : {};
}

/** The range of the address; null for all there is. */
export const chosenRange = ({ from, to }: RangeSearch): Range | null =>
  from === undefined || to === undefined ? null : [from, to];

/** A range as the address has it. */
export const searchOf = (range: Range | null): RangeSearch =>
  range === null ? {} : { from: range[0], to: range[1] };

/** Reads an axis of the address; the first is what it leaves out. */
export const axisIn = <Axis extends ChartAxis>(
  axes: readonly Axis[],
  x: unknown,
): Axis | undefined => axes.slice(1).find((axis) => axis === x);
