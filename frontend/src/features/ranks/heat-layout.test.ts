import { expect, it } from "vitest";

import { cornerOf, layOut, rankAt, stepTo } from "./heat-layout";

it.each([
  [1, 358],
  [2, 1230],
  [8, 1230],
  [3000, 1230],
  [10_240, 1230],
  [10_240, 358],
  [100_000, 1230],
])("lays %d ranks out within %d px, each under its own point", (count, width) => {
  const layout = layOut(count, width);
  expect(layout.columns * layout.cell).toBeLessThanOrEqual(width);
  expect(layout.columns * layout.rows).toBeGreaterThanOrEqual(count);
  for (const rank of [0, 1, Math.floor(count / 2), count - 1].filter((rank) => rank < count)) {
    const { x, y } = cornerOf(layout, rank);
    expect(rankAt(layout, x + 1, y + 1)).toBe(rank);
  }
  expect(rankAt(layout, -1, 0)).toBeNull();
  expect(rankAt(layout, layout.columns * layout.cell + 1, 0)).toBeNull();
  expect(rankAt(layout, 0, layout.rows * layout.cell + 1)).toBeNull();
});

it("keeps hosts of eight together", () => {
  expect(layOut(10_240, 1230).columns % 8).toBe(0);
});

it("moves by keys and never off the map", () => {
  const layout = { count: 10, columns: 4, rows: 3, cell: 10 };
  const walk = (from: number, ...keys: string[]) =>
    keys.reduce((at, key) => stepTo(layout, at, key) ?? NaN, from);
  expect(walk(0, "ArrowRight", "ArrowDown")).toBe(5);
  expect(walk(5, "ArrowUp", "ArrowLeft", "ArrowLeft")).toBe(0);
  expect(walk(6, "ArrowDown")).toBe(6);
  expect(walk(5, "ArrowDown", "ArrowRight")).toBe(9);
  expect(walk(3, "End")).toBe(9);
  expect(walk(9, "PageUp", "PageDown", "Home")).toBe(0);
  expect(stepTo(layout, 0, "a")).toBeNull();
});
