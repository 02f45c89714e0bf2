import { WHOLE } from "@/lib/units";

/** What the keys of a slider or a number change, in ppm: 0.1 %, with Shift 1 %, by page 5 %. */
const FINE = 1000;
const COARSE = 10_000;
const PAGE = 50_000;

const DIRECTIONS: Readonly<Record<string, number>> = {
  ArrowUp: 1,
  ArrowRight: 1,
  ArrowDown: -1,
  ArrowLeft: -1,
};

/**
 * The weight after a key was pressed on a slider, from 0 to the whole; null for a key that changes nothing. Steps
 * go to round weights: 12.34 % and an arrow up is 12.4 %.
 */
export function weightAfterKey(
  weight: number,
  { key, shiftKey }: { key: string; shiftKey: boolean },
): number | null {
  if (key === "Home") return 0;
  if (key === "End") return WHOLE;
  if (key === "PageUp") return stepped(weight, 1, PAGE);
  if (key === "PageDown") return stepped(weight, -1, PAGE);
  const direction = DIRECTIONS[key];
  return direction === undefined ? null : stepped(weight, direction, shiftKey ? COARSE : FINE);
}

function stepped(weight: number, direction: number, by: number): number {
  const next =
    direction > 0 ? (Math.floor(weight / by) + 1) * by : (Math.ceil(weight / by) - 1) * by;
  return Math.min(WHOLE, Math.max(0, next));
}
