import type { Range, XAxis } from "@/api/queries/figure";

/** Windows of the smoothing, in percent of what is shown. */
export const SMOOTHINGS = [0, 1, 5, 20] as const;

/** What the charts show, as it stands in the address; what it leaves out is by step, all of it, not smoothed. */
export interface ChartsSearch {
  x?: "tokens" | "time";
  from?: number;
  to?: number;
  smooth?: number;
}

const finite = (value: unknown) =>
  typeof value === "number" && Number.isFinite(value) ? value : null;

/** Reads the address; what makes no sense in it is left out. */
export function chartsSearch(search: Record<string, unknown>): ChartsSearch {
  const found: ChartsSearch = {};
  if (search.x === "tokens" || search.x === "time") found.x = search.x;
  const [from, to] = [finite(search.from), finite(search.to)];
  if (from !== null && to !== null && from < to) Object.assign(found, { from, to });
  const smooth = finite(search.smooth);
  if (smooth !== null && SMOOTHINGS.some((percent) => percent === smooth) && smooth > 0)
    found.smooth = smooth;
  return found;
}

/** The axis alone, for a page whose charts are zoomed each by itself. */
export const axisSearch = ({ x }: Record<string, unknown>): Pick<ChartsSearch, "x"> =>
  chartsSearch({ x });

export const axisOf = ({ x }: ChartsSearch): XAxis => x ?? "step";

export const chosenRange = ({ from, to }: ChartsSearch): Range | null =>
  from === undefined || to === undefined ? null : [from, to];

/** The search with another axis: a range of the one means nothing on the other. */
export const withAxis = ({ smooth }: ChartsSearch, x: string): ChartsSearch =>
  chartsSearch({ x, smooth });

export const withRange = ({ x, smooth }: ChartsSearch, range: Range | null): ChartsSearch =>
  chartsSearch({ x, smooth, from: range?.[0], to: range?.[1] });

export const withSmoothing = (search: ChartsSearch, smooth: number): ChartsSearch =>
  chartsSearch({ ...search, smooth });
