import type { System } from "@/api/types";
import { Moment } from "@/components/time";
import { formatCount, formatMetric } from "@/lib/format";

import classes from "./system.module.css";

type Minutes = System["ingest"]["per_minute"];

const HEIGHT = 64;
const STEP = 10;
const GAP = 2;

/** A bar a minute, from 0 to the busiest one; what it says is said in text too. */
export function bars(minutes: Minutes): { x: number; y: number; height: number }[] {
  const most = Math.max(1, ...minutes.map(({ num_reports: num }) => num));
  return minutes.map(({ num_reports: num }, index) => {
    // A minute with anything in it is seen, however small beside the busiest.
    const height = num === 0 ? 0 : Math.max(1, (num / most) * HEIGHT);
    return { x: index * STEP, y: HEIGHT - height, height };
  });
}

/** Reports of each minute of the last hour. */
export function ReportsByMinute({ minutes }: { minutes: Minutes }) {
  const first = minutes[0];
  const last = minutes.at(-1);
  if (first === undefined || last === undefined) return null;
  const most = Math.max(...minutes.map(({ num_reports: num }) => num));
  return (
    <figure className={classes.spark}>
      <svg
        viewBox={`0 0 ${minutes.length * STEP} ${HEIGHT}`}
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
          <Moment at={first.minute} />
        </span>
        <span>reports a minute, at most {formatMetric(most)}</span>
        <span>
          <Moment at={last.minute} />
        </span>
      </figcaption>
    </figure>
  );
}
