import { formatSpan } from "@/lib/time";

import type { Stage } from "./life-stages";
import classes from "./life-track.module.css";
import { Moment } from "./time";

interface Props {
  label: string;
  stages: readonly Stage[];
  /** What it waits for, in words; null when nothing is to come. */
  waiting: string | null;
}

/** Steps with the time of each, the time since the first, and what the next one waits for. */
export function StageTrack({ label, stages, waiting }: Props) {
  const first = stages[0]?.at ?? null;
  return (
    <>
      <ol className={classes.track} aria-label={label}>
        {stages.map(({ label: name, at }, index) => (
          <li key={name} className={classes.stage} data-done={at !== null}>
            <span className={classes.label}>{name}</span>
            <span className={classes.time}>
              {at === null ? "not yet" : <Moment at={at} />}
              {at !== null && first !== null && index > 0 && ` · +${formatSpan(first, at)}`}
            </span>
          </li>
        ))}
      </ol>
      <p className={classes.waiting} role="status">
        {waiting}
      </p>
    </>
  );
}
