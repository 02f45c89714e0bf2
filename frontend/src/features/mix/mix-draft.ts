import type { MixVersion } from "@/api/types";
import { largestRemainder } from "@/lib/largest-remainder";
import { ppm, WHOLE, type Ppm } from "@/lib/units";

/** One source of an edit that has not been sent. */
export interface DraftRow {
  source: string;
  weight: Ppm;
  /** What the reader last asked for; the proportion in which this row shares what the others leave. */
  wish: Ppm;
  /** A locked row keeps its weight when the rest is normalised. */
  locked: boolean;
  /** The reader gave this weight; others only made room for it. */
  touched: boolean;
}

/** An edit of the mix: the version it starts from and the weights as they stand. */
export interface MixDraft {
  basis: number;
  before: Readonly<Record<string, Ppm>>;
  rows: readonly DraftRow[];
}

const weightsOf = (version: MixVersion): Record<string, Ppm> =>
  Object.fromEntries(
    Object.entries(version.weights_ppm).map(([source, value]) => [source, ppm(value)]),
  );

const rowOf = (source: string, weight: Ppm, touched: boolean): DraftRow => ({
  source,
  weight,
  wish: weight,
  locked: false,
  touched,
});

/** A fresh edit of `version`; `order` is the job's order of sources. */
export function startDraft(version: MixVersion, order: readonly string[]): MixDraft {
  const before = weightsOf(version);
  const rows = order.map((source) => rowOf(source, before[source] ?? ppm(0), false));
  return { basis: version.version, before, rows };
}

/** An edit of `version` that asks for `weights`, such as those of a change that could not be made. */
export function draftOf(
  version: MixVersion,
  order: readonly string[],
  weights: Readonly<Record<string, number>>,
): MixDraft {
  const before = weightsOf(version);
  const rows = order.map((source) => {
    const weight = ppm(weights[source] ?? 0);
    return rowOf(source, weight, weight !== (before[source] ?? 0));
  });
  return { basis: version.version, before, rows };
}

/**
 * The same weights on top of another version: what an editor does who keeps their edit after a conflict. A source
 * that came with that version comes along with its weight.
 */
export function rebaseDraft(draft: MixDraft, version: MixVersion): MixDraft {
  const before = weightsOf(version);
  const held = new Set(draft.rows.map(({ source }) => source));
  const added = Object.entries(before).filter(([source]) => !held.has(source));
  const rows = added.map(([source, weight]) => rowOf(source, weight, false));
  return { basis: version.version, before, rows: [...draft.rows, ...rows] };
}

/** Whether both sides can be had: the reader asked for some weights, and not for all. */
export const canMerge = (draft: MixDraft): boolean =>
  draft.rows.some(({ touched }) => touched) && draft.rows.some(({ touched }) => !touched);

/**
 * Both edits together: the weights that the reader gave stay as they are, and the others share what is left in the
 * proportions of `version`.
 */
export function mergeDraft(draft: MixDraft, version: MixVersion): MixDraft {
  const onTop = rebaseDraft(draft, version);
  const rows = onTop.rows.map((row) => {
    const theirs = onTop.before[row.source] ?? ppm(0);
    return row.touched ? row : { ...row, weight: theirs, wish: theirs };
  });
  const kept = (row: DraftRow) => row.touched || row.locked;
  return { ...onTop, rows: fillRest(rows, kept) };
}

/** The sum of all weights; the whole, where the edit can be sent. */
export const totalOf = (draft: MixDraft): Ppm =>
  ppm(draft.rows.reduce((sum, row) => sum + row.weight, 0));

/** Whether any weight differs from the version the edit starts from. */
export const isChanged = (draft: MixDraft): boolean =>
  draft.rows.some(({ source, weight }) => weight !== (draft.before[source] ?? 0));

/** The weights by source, as they are sent. */
export const draftWeights = (draft: MixDraft): Record<string, Ppm> =>
  Object.fromEntries(draft.rows.map(({ source, weight }) => [source, weight]));

/** Gives the rows that are not `fixed` what the others leave of the whole, by their wishes. */
function fillRest(rows: readonly DraftRow[], fixed: (row: DraftRow) => boolean): DraftRow[] {
  const taken = rows.filter(fixed).reduce((sum, row) => sum + row.weight, 0);
  const free = rows.filter((row) => !fixed(row));
  const shares = largestRemainder(
    free.map((row) => row.wish),
    ppm(Math.max(0, WHOLE - taken)),
  );
  const bySource = new Map(free.map((row, index) => [row.source, shares[index] ?? ppm(0)]));
  return rows.map((row) => ({ ...row, weight: bySource.get(row.source) ?? row.weight }));
}

/**
 * Sets one weight, held between 0 and the whole. With `balance` the other unlocked rows share the rest in the
 * proportions last asked for, so that passing through 100 % loses nothing; paused ones stay paused.
 */
export function setWeight(
  draft: MixDraft,
  source: string,
  weight: Ppm,
  balance: boolean,
): MixDraft {
  const held = ppm(Math.min(WHOLE, Math.max(0, Math.round(weight))));
  const rows = draft.rows.map((row) =>
    row.source === source ? { ...row, weight: held, wish: held, touched: true } : row,
  );
  const fixed = (row: DraftRow) => row.locked || row.source === source;
  return { ...draft, rows: balance ? fillRest(rows, fixed) : rows };
}

/** Makes the unlocked rows share what the locked ones leave, in the proportions they show. */
export function normaliseRest(draft: MixDraft): MixDraft {
  const rows = draft.rows.map((row) => ({ ...row, wish: row.weight }));
  return { ...draft, rows: fillRest(rows, ({ locked }) => locked) };
}

/** Locks a row against being normalised, or unlocks it. */
export const toggleLock = (draft: MixDraft, source: string): MixDraft => ({
  ...draft,
  rows: draft.rows.map((row) => (row.source === source ? { ...row, locked: !row.locked } : row)),
});

/** Why the weights can't be sent as they are, or null. */
export function draftProblem(draft: MixDraft): string | null {
  const total = totalOf(draft);
  if (!isChanged(draft)) return `These are the weights of v${draft.basis}: nothing to send.`;
  if (total === WHOLE) return null;
  return `The weights sum to ${Number((total / 10_000).toFixed(4))} %, not 100 %. Change one or normalise the rest.`;
}
