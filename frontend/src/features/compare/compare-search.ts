import { axisIn, rangeSearch, type RangeSearch } from "@/charts/chart-search";

/** What jobs can be compared over. */
export const AXES = ["step", "tokens", "elapsed"] as const;
export type CompareAxis = (typeof AXES)[number];

/** What can be compared. */
export const METRICS = ["tokens_per_s", "wait_share", "loss", "share"] as const;
export type CompareMetric = (typeof METRICS)[number];

/** A comparison as it stands in the address: ids of jobs with commas between, in the order of their colours. */
export interface CompareSearch extends RangeSearch {
  jobs?: string;
  x?: CompareAxis;
  metric?: CompareMetric;
  source?: string;
}

/** So many jobs at once. */
export const MAX_JOBS = 10;

const ID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/** The ids of an address, each once, ten at most; `left` counts what was no id or too many. */
export function readIds(jobs: string | undefined): { ids: string[]; left: number } {
  const given = [...new Set((jobs ?? "").split(",").map((id) => id.trim()))].filter(Boolean);
  const ids = given.filter((id) => ID.test(id)).slice(0, MAX_JOBS);
  return { ids, left: given.length - ids.length };
}

/** Reads an address that anyone may have typed; what is not understood is left out. */
export function compareSearch(search: Record<string, unknown>): CompareSearch {
  const metric = METRICS.find((known) => known === search.metric);
  const { jobs, source } = search;
  const x = axisIn(AXES, search.x);
  return {
    ...(typeof jobs === "string" && jobs !== "" && { jobs: jobs.slice(0, 1000) }),
    ...(x && { x }),
    ...rangeSearch(search),
    ...(metric && { metric }),
    ...(typeof source === "string" && source !== "" && { source: source.slice(0, 200) }),
  };
}
