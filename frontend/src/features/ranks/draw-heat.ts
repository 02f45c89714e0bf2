import type { HeatCells } from "./heat-cells";
import { cornerOf, type HeatLayout } from "./heat-layout";
import { BIN_SILENT, BIN_UNKNOWN, NUM_BINS } from "./heat-scale";
import { RANK_STATES, type RankStateName } from "./rank-states";

/** The colours of the map, as the theme has them. */
export interface HeatColors {
  bins: readonly string[];
  states: readonly string[];
  /** Marks on the worst cells, and outlines. */
  ink: string;
  empty: string;
}

/** Reads the theme's colours off an element of the map. */
export function heatColors(element: Element): HeatColors {
  const style = getComputedStyle(element);
  const color = (name: string) => style.getPropertyValue(`--heat-${name}`).trim();
  return {
    bins: Array.from({ length: NUM_BINS }, (_, bin) => color(String(bin))),
    states: RANK_STATES.map(color),
    ink: color("ink"),
    empty: color("empty"),
  };
}

/** Cells that the filter leaves out stay where they are, and fade. */
const FADED = 0.25;
/** Cells at least this large have a gap and a mark. */
const GAP_FROM_PX = 5;

type Mark = "cross" | "bar" | "slash" | "dot" | "corner" | null;

/** The mark of a state, so that none is told by its colour alone; live and finished have none. */
const MARKS: Partial<Record<RankStateName, Mark>> = {
  lost: "cross",
  stuck: "bar",
  stale: "slash",
  late: "dot",
};
const STATE_MARKS: readonly Mark[] = RANK_STATES.map((state) => MARKS[state] ?? null);

const markOf = (bin: number, isState: boolean): Mark =>
  isState ? (STATE_MARKS[bin] ?? null) : bin === NUM_BINS - 1 ? "corner" : null;

function trace(path: Path2D, mark: Mark, x: number, y: number, side: number) {
  const inset = side * 0.25;
  const [left, top, right, bottom] = [x + inset, y + inset, x + side - inset, y + side - inset];
  const line = (x0: number, y0: number, x1: number, y1: number) => {
    path.moveTo(x0, y0);
    path.lineTo(x1, y1);
  };
  if (mark === "cross" || mark === "slash") line(left, bottom, right, top);
  if (mark === "cross") line(left, top, right, bottom);
  if (mark === "bar") line(left, y + side / 2, right, y + side / 2);
  if (mark === "dot") line(x + side / 2 - 0.5, y + side / 2, x + side / 2 + 0.5, y + side / 2);
  if (mark === "corner") line(x + side / 2, y + 0.5, x + side - 0.5, y + side / 2);
}

/** One path a bin: ten thousand cells are a dozen fills. */
function paths(cells: HeatCells, layout: HeatLayout, wanted: (rank: number) => boolean) {
  const found = new Map<number, { fill: Path2D; marks: Path2D }>();
  const isState = cells.metric === "state";
  const side = layout.cell - (layout.cell >= GAP_FROM_PX ? 1 : 0);
  cells.bins.forEach((bin, rank) => {
    if (!wanted(rank)) return;
    let path = found.get(bin);
    if (path === undefined) {
      path = { fill: new Path2D(), marks: new Path2D() };
      found.set(bin, path);
    }
    const { x, y } = cornerOf(layout, rank);
    path.fill.rect(x, y, side, side);
    const mark = markOf(bin, isState);
    if (mark !== null) trace(path.marks, mark, x, y, side);
  });
  return found;
}

/** Draws every cell; `shown` tells which ranks the filter leaves in, or is null where all are. */
export function drawHeat(
  canvas: HTMLCanvasElement,
  cells: HeatCells,
  layout: HeatLayout,
  colors: HeatColors,
  shown: ReadonlySet<number> | null,
): void {
  const context = canvas.getContext("2d");
  if (context === null) return;
  const ratio = window.devicePixelRatio;
  canvas.width = Math.round(layout.columns * layout.cell * ratio);
  canvas.height = Math.round(layout.rows * layout.cell * ratio);
  context.scale(ratio, ratio);
  const palette = cells.metric === "state" ? colors.states : colors.bins;
  const layers: [number, (rank: number) => boolean][] =
    shown === null
      ? [[1, () => true]]
      : [
          [FADED, (rank) => !shown.has(rank)],
          [1, (rank) => shown.has(rank)],
        ];
  for (const [alpha, wanted] of layers) {
    context.globalAlpha = alpha;
    for (const [bin, { fill, marks }] of paths(cells, layout, wanted)) {
      if (bin === BIN_SILENT) {
        context.strokeStyle = colors.empty;
        context.lineWidth = 1;
        context.stroke(fill);
        continue;
      }
      context.fillStyle = bin === BIN_UNKNOWN ? colors.empty : (palette[bin] ?? colors.empty);
      context.fill(fill);
      context.strokeStyle = colors.ink;
      context.lineWidth = Math.max(1, layout.cell / 10);
      context.stroke(marks);
    }
  }
}
