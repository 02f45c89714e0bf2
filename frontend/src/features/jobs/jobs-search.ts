import type { JobState } from "@/api/types";

/** The states to filter by, those that run first. */
export const JOB_STATES = [
  "running",
  "waiting",
  "stalled",
  "lost",
  "failed",
  "finished",
] as const satisfies readonly JobState[];

/** The filter of the job list, as it stands in the address. */
export interface JobsSearch {
  q?: string;
  state?: JobState;
  project?: string;
}

/** Reads the filter from an address that anyone may have typed; what is not understood is left out. */
export function jobsSearch(search: Record<string, unknown>): JobsSearch {
  const state = JOB_STATES.find((known) => known === search.state);
  // A search for "123" arrives as a number.
  const q = typeof search.q === "string" || typeof search.q === "number" ? String(search.q) : "";
  return {
    ...(q !== "" && { q }),
    ...(state && { state }),
    ...(typeof search.project === "string" && { project: search.project }),
  };
}
