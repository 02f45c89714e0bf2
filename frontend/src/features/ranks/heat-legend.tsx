import { formatCount } from "@/lib/format";

import { binCounts, type HeatCells } from "./heat-cells";
import { binText } from "./heat-legend-text";
import classes from "./heat-map.module.css";
import { NUMBER_METRICS } from "./heat-metrics";
import { NUM_BINS } from "./heat-scale";
import { RANK_STATES } from "./rank-states";

/** The marks that the cells have, as characters. */
const STATE_MARKS: Record<string, string> = { lost: "×", stuck: "–", stale: "/", late: "·" };
const STATE_WORDS: Record<string, string> = { stuck: "not advancing" };

interface Entry {
  key: string;
  color: string;
  mark: string;
  text: string;
  count: number;
}

function entries(cells: HeatCells): Entry[] {
  if (cells.metric === "state") {
    const counts = binCounts(cells, RANK_STATES.length);
    return RANK_STATES.map((state, place) => ({
      key: state,
      color: `var(--heat-${state})`,
      mark: STATE_MARKS[state] ?? "",
      text: STATE_WORDS[state] ?? state,
      count: counts[place] ?? 0,
    })).reverse();
  }
  const { metric, scale } = cells;
  if (scale === null) return [];
  return binCounts(cells, NUM_BINS).map((count, bin) => ({
    key: String(bin),
    color: `var(--heat-${bin})`,
    mark: bin === NUM_BINS - 1 ? "◥" : "",
    text: binText(bin, scale, NUMBER_METRICS[metric]),
    count,
  }));
}

/** What the colours and marks of the map stand for, with units, and how many ranks have each; the best first. */
export function HeatLegend({ cells }: { cells: HeatCells }) {
  return (
    <ul className={classes.legend} aria-label="Legend">
      {entries(cells)
        .filter(({ count }) => count > 0)
        .map(({ key, color, mark, text, count }) => (
          <li key={key}>
            <span className={classes.swatch} style={{ backgroundColor: color }} aria-hidden="true">
              {mark}
            </span>
            {text}: {formatCount(count)}
          </li>
        ))}
      {cells.numSilent > 0 && (
        <li>
          <span className={classes.swatch} data-empty="true" aria-hidden="true" />
          not reported: {formatCount(cells.numSilent)}
        </li>
      )}
      {cells.metric !== "state" && <li>stronger is worse</li>}
    </ul>
  );
}
