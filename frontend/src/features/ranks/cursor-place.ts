import type { Job, RankState } from "@/api/types";

/** Where a rank reads a source. */
export type Cursor = RankState["sources"][number];

/** Rounding at the seam of two epochs is no place outside them. */
const SEAM = 0.01;

/**
 * How far the source's epoch is, from 0 to 1: sequences delivered × tokens of each, against the source's size. Null where
 * that does not agree with the epoch reported, as for a source whose size has changed.
 */
export function epochShare(cursor: Cursor, job: Pick<Job, "seq_len" | "sources">): number | null {
  const size = job.sources.find(({ name }) => name === cursor.name)?.num_tokens ?? 0;
  if (size === 0) return null;
  const part = (cursor.ordinal * job.seq_len) / size - cursor.epoch;
  return part < -SEAM || part > 1 + SEAM ? null : Math.min(1, Math.max(0, part));
}

/** The last two parts of a path. */
export const shortPath = (path: string): string => path.split("/").slice(-2).join("/");
