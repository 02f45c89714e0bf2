import { ppm, type Ppm } from "./units";

/**
 * Integers in the proportions of `parts` that sum to `total`; ties go to the earlier part.
 * The same rule the loader and the server use for weights. All parts zero gives all zero.
 */
export function largestRemainder(parts: readonly number[], total: Ppm): Ppm[] {
  const sum = parts.reduce((left, right) => left + right, 0);
  if (sum <= 0 || total <= 0) return parts.map(() => ppm(0));
  const exact = parts.map((part) => (part / sum) * total);
  const floors = exact.map(Math.floor);
  let rest = total - floors.reduce((left, right) => left + right, 0);
  const order = exact
    .map((value, index) => ({ index, remainder: value - Math.floor(value) }))
    .sort((a, b) => b.remainder - a.remainder || a.index - b.index);
  for (const { index } of order) {
    if (rest <= 0) break;
    floors[index] = (floors[index] ?? 0) + 1;
    rest -= 1;
  }
  return floors.map(ppm);
}
