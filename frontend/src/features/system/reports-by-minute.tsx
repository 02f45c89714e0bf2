import type { System } from "@/api/types";
import card from "@/components/card.module.css";
import { Moment } from "@/components/time";
import { formatCount, formatMetric } from "@/lib/format";

import classes from "./system.module.css";

type Minutes = System["ingest"]["per_minute"];

const HEIGHT = 64;
const STEP = 10;
const GAP = 2;
const SHOWN_MINUTES = 60;
const WIDTH = SHOWN_MINUTES * STEP;

/** A bar a minute, the last at the right end, from 0 to the busiest one. */
export function bars(all: Minutes): { x: number; y: number; height: number }[] {
  const minutes = all.slice(-SHOWN_MINUTES);
  const left = WIDTH - minutes.length * STEP;
  const most = Math.max(1, ...minutes.map(({ num_reports: num }) => num));
  return minutes.map(({ num_reports: num }, index) => {
    // A minute with anything in it is seen, however small beside the busiest.
    const height = num === 0 ? 0 : Math.max(1, (num / most) * HEIGHT);
    return { x: left + index * STEP, y: HEIGHT - height, height };
  });
}

/** Reports of each minute of the last hour. */
export function ReportsByMinute({ minutes }: { minutes: Minutes }) {
  const last = minutes.at(-1);
  if (last === undefined) return null;
  const first = new Date(Date.parse(last.minute) - (SHOWN_MINUTES - 1) * 60_000).toISOString();
  const most = Math.max(...minutes.map(({ num_reports: num }) => num));
  return (
    <figure className={`${card.card} ${classes.spark}`}>
      <svg
        viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
        preserveAspectRatio="none"
        role="img"
        aria-label={`Reports a minute: ${formatCount(last.num_reports)} in the last one, ${formatCount(most)} in the busiest of ${minutes.length}`}
      >
        <g className={classes.bars}>
          {bars(minutes).map(({ x, y, height }) => (
            <rect key={x} x={x} y={y} width={STEP - GAP} height={height} />
          ))}
        </g>
      </svg>
      <figcaption className={classes.axis}>
        <span>
          <Moment at={first} />
        </span>
        <span>reports a minute, at most {formatMetric(most)}</span>
        <span>
          <Moment at={last.minute} />
        </span>
      </figcaption>
    </figure>
  );
}
