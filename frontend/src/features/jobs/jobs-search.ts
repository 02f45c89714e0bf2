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

/** The filter of the job list, as it stands in the address. `from` and `to` are days in the reader's zone. */
export interface JobsSearch {
  q?: string;
  state?: JobState;
  owner?: string;
  tag?: string[];
  from?: string;
  to?: string;
  archived?: true;
  project?: string;
}

/** The server takes ten tags at most. */
const MAX_TAGS = 10;

/** A text of an address; a search for "123" arrives as a number. */
const text = (value: unknown) =>
  typeof value === "string" || typeof value === "number" ? String(value).trim() : "";

/** `2026-11-30`, and nothing that only looks like a day. */
function day(value: unknown): string {
  const given = text(value);
  const parsed = /^\d{4}-\d{2}-\d{2}$/.test(given) ? new Date(`${given}T00:00:00Z`) : null;
  const valid = parsed !== null && !Number.isNaN(parsed.getTime());
  return valid && parsed.toISOString().startsWith(given) ? given : "";
}

/** Reads the filter from an address that anyone may have typed; what is not understood is left out. */
export function jobsSearch(search: Record<string, unknown>): JobsSearch {
  const state = JOB_STATES.find((known) => known === search.state);
  const given = Array.isArray(search.tag) ? (search.tag as unknown[]) : [search.tag];
  const tag = [...new Set(given.map(text).filter((each) => each !== ""))].slice(0, MAX_TAGS);
  const texts = { q: text(search.q), owner: text(search.owner), project: text(search.project) };
  const days = { from: day(search.from), to: day(search.to) };
  return {
    ...Object.fromEntries(
      Object.entries({ ...texts, ...days }).filter(([, value]) => value !== ""),
    ),
    ...(state && { state }),
    ...(tag.length > 0 && { tag }),
    ...(search.archived === true && { archived: true }),
  };
}

/** Whether anything but the project narrows the list. */
export const isFiltered = (search: JobsSearch) =>
  Object.keys(search).some((name) => name !== "project");
