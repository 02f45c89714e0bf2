/** Where the cells of the heat map lie, in CSS pixels: rank 0 at the top left, row by row. */
export interface HeatLayout {
  count: number;
  columns: number;
  rows: number;
  /** The side of a cell, its gap included. */
  cell: number;
}

const HEIGHT_PX = 240;
const MOST_PX = 28;
const LEAST_PX = 4;
/** Ranks of a host lie together: rows are cut where one ends, as hosts mostly have this many or a part of it. */
const HOST_RANKS = 8;

/** The largest cells with which `count` of them fit `width` and about 240 px of height; at least 4 px. */
export function layOut(count: number, width: number): HeatLayout {
  const fitting = Math.floor(Math.sqrt((width * HEIGHT_PX) / Math.max(1, count)));
  const cell = Math.min(MOST_PX, Math.max(LEAST_PX, fitting));
  let columns = Math.max(1, Math.floor(width / cell));
  if (columns > HOST_RANKS && count > columns) columns -= columns % HOST_RANKS;
  columns = Math.min(columns, Math.max(1, count));
  return { count, columns, rows: Math.ceil(count / columns), cell };
}

/** The rank under a point of the map, or null beside it. */
export function rankAt({ count, columns, cell }: HeatLayout, x: number, y: number): number | null {
  const column = Math.floor(x / cell);
  const row = Math.floor(y / cell);
  if (column < 0 || column >= columns || row < 0) return null;
  const rank = row * columns + column;
  return rank < count ? rank : null;
}

/** The left upper corner of a rank's cell. */
export const cornerOf = ({ columns, cell }: HeatLayout, rank: number) => ({
  x: (rank % columns) * cell,
  y: Math.floor(rank / columns) * cell,
});

/** How far a page key goes. */
const PAGE_ROWS = 10;

/** The rank that a key leads to from another; null for a key that leads nowhere. Never off the map. */
export function stepTo({ count, columns }: HeatLayout, from: number, key: string): number | null {
  const last = count - 1;
  const down = (rows: number) => {
    const to = from + rows * columns;
    return to < 0 || to > last ? from : to;
  };
  switch (key) {
    case "ArrowRight":
      return Math.min(last, from + 1);
    case "ArrowLeft":
      return Math.max(0, from - 1);
    case "ArrowDown":
      return down(1);
    case "ArrowUp":
      return down(-1);
    case "PageDown":
      return Math.min(last, from + PAGE_ROWS * columns);
    case "PageUp":
      return Math.max(0, from - PAGE_ROWS * columns);
    case "Home":
      return 0;
    case "End":
      return last;
    default:
      return null;
  }
}
