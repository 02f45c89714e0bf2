import type { Range, XAxis } from "@/api/queries/figure";
import { axisIn, rangeSearch, searchOf, type RangeSearch } from "@/charts/chart-search";

/** What the charts of a job can run over. */
export const AXES = ["step", "tokens", "time"] as const satisfies readonly XAxis[];

/** Windows of the smoothing, in percent of what is shown. */
export const SMOOTHINGS = [0, 1, 5, 20] as const;

/** What the charts show, as it stands in the address; what it leaves out is by step, all of it, not smoothed. */
export interface ChartsSearch extends RangeSearch {
  x?: XAxis;
  smooth?: number;
}

/** Reads the address; what makes no sense in it is left out. */
export function chartsSearch(search: Record<string, unknown>): ChartsSearch {
  const smooth = SMOOTHINGS.find((percent) => percent > 0 && percent === search.smooth);
  return { ...axisSearch(search), ...rangeSearch(search), ...(smooth && { smooth }) };
}

/** The axis alone, for a page whose charts are zoomed each by itself. */
export function axisSearch(search: Record<string, unknown>): Pick<ChartsSearch, "x"> {
  const x = axisIn(AXES, search.x);
  return x ? { x } : {};
}

export const axisOf = ({ x }: ChartsSearch): XAxis => x ?? "step";

/** The search with another axis: a range of the one means nothing on the other. */
export const withAxis = ({ smooth }: ChartsSearch, x: XAxis): ChartsSearch =>
  chartsSearch({ x, smooth });

export const withRange = ({ x, smooth }: ChartsSearch, range: Range | null): ChartsSearch =>
  chartsSearch({ x, smooth, ...searchOf(range) });

export const withSmoothing = (search: ChartsSearch, smooth: number): ChartsSearch =>
  chartsSearch({ ...search, smooth });
