/** One source whose weight two versions don't share. */
export interface WeightChange {
  source: string;
  before: number;
  after: number;
}

/** The sources whose weight changes from `before` to `after` (ppm), in the order of `after`; a missing one counts as 0. */
export function mixDifference(
  before: Readonly<Record<string, number>>,
  after: Readonly<Record<string, number>>,
): WeightChange[] {
  const sources = new Set([...Object.keys(after), ...Object.keys(before)]);
  return [...sources]
    .map((source) => ({ source, before: before[source] ?? 0, after: after[source] ?? 0 }))
    .filter((change) => change.before !== change.after);
}
