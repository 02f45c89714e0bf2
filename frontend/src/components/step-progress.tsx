import { formatCount, formatShare, UNKNOWN } from "@/lib/format";
import { share } from "@/lib/units";

import classes from "./step-progress.module.css";

interface Props {
  step: number | null;
  totalSteps: number | null;
}

/** The last step handed out, and the share of the planned steps where a number is planned. */
export function StepProgress({ step, totalSteps }: Props) {
  // Steps count from 0, so that step 0 handed out is one step done.
  const done = step === null ? 0 : step + 1;
  const part = totalSteps ? share(Math.min(1, done / totalSteps)) : null;
  return (
    <div className={classes.progress}>
      <span className={classes.line}>
        {step === null ? UNKNOWN : formatCount(step)}
        {totalSteps !== null && <span className={classes.total}>/ {formatCount(totalSteps)}</span>}
        {part !== null && <span className={classes.share}>{formatShare(part)}</span>}
      </span>
      {part !== null && (
        <span className={classes.track} aria-hidden="true">
          <span className={classes.fill} style={{ width: `${part * 100}%` }} />
        </span>
      )}
    </div>
  );
}
