import { expect, it } from "vitest";

import { largestRemainder } from "./largest-remainder";
import { ppm, WHOLE } from "./units";

it("sums to the total, ties to the earlier part", () => {
  expect(largestRemainder([1, 1, 1], WHOLE)).toEqual([333_334, 333_333, 333_333]);
  expect(largestRemainder([3, 1], WHOLE)).toEqual([750_000, 250_000]);
  expect(largestRemainder(Array<number>(10).fill(0.1), WHOLE)).toEqual(Array(10).fill(100_000));
});

it("sums to the total for many uneven parts", () => {
  for (let count = 1; count <= 50; count += 1) {
    const parts = Array.from({ length: count }, (_, index) => Math.sqrt(index + 1) * 1.7);
    const shares = largestRemainder(parts, ppm(777_777));
    expect(shares.reduce((sum, value) => sum + value, 0)).toBe(777_777);
  }
});

it("gives nothing where there is nothing to share or nobody to share it", () => {
  expect(largestRemainder([0, 0], WHOLE)).toEqual([0, 0]);
  expect(largestRemainder([1, 2], ppm(0))).toEqual([0, 0]);
  expect(largestRemainder([], WHOLE)).toEqual([]);
});
