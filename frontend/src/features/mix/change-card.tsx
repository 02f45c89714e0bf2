import type { Job, MixChange, MixVersion } from "@/api/types";
import { CopyableId } from "@/components/copyable-id";
import { changeStages } from "@/components/life-stages";
import { StageTrack } from "@/components/stage-track";
import { StateBadge } from "@/components/state-badge";
import { ThreeWayTable } from "@/components/three-way-table";
import { Moment } from "@/components/time";
import { formatPpm, formatPpmDelta } from "@/lib/format";
import { mixDifference } from "@/lib/mix-difference";
import { ppm } from "@/lib/units";
import { useNow } from "@/lib/use-now";

import { ChangeActions, type ChangeRights } from "./change-actions";
import { purposeOf, waitOf } from "./change-words";
import classes from "./changes.module.css";

interface Props {
  job: Job;
  newest: MixVersion;
  change: MixChange;
  rights: ChangeRights;
  onTakeUp?: ((change: MixChange) => void) | undefined;
}

/** A change that waits: what it is for, what it would change, how far it has come, and what can be done with it. */
export function ChangeCard({ job, newest, change, rights, onTakeUp }: Props) {
  const now = useNow(5000);
  const titleId = `change-${change.id}`;
  return (
    <li className={classes.card} aria-labelledby={titleId} data-state={change.state}>
      <div className={classes.head}>
        <StateBadge state={change.state} />
        <h3 id={titleId} className={classes.title}>
          Change {purposeOf(change, new Date(now))}
        </h3>
        <span className={classes.who}>
          {change.author}, <Moment at={change.created_at} />
        </span>
        <CopyableId id={change.id} label="change" />
      </div>
      <p className={classes.reason}>{change.reason}</p>
      {change.conflict ? (
        <Conflict job={job} change={change} conflict={change.conflict} />
      ) : (
        <Difference newest={newest} change={change} />
      )}
      <StageTrack
        label="Life of the change"
        stages={changeStages(change)}
        waiting={waitOf(change, job, newest, now)}
      />
      <ChangeActions jobId={job.id} change={change} rights={rights} onTakeUp={onTakeUp} />
    </li>
  );
}

/** What the change does to the mix as it is now. */
function Difference({ newest, change }: { newest: MixVersion; change: MixChange }) {
  const changes = mixDifference(newest.weights_ppm, change.weights_ppm);
  if (changes.length === 0)
    return <p className={classes.note}>The weights of v{newest.version}.</p>;
  return (
    <ul className={classes.difference} aria-label={`Difference to v${newest.version}`}>
      {changes.map(({ source, before, after }) => (
        <li key={source}>
          {source} {formatPpm(ppm(before))} → {formatPpm(ppm(after))}{" "}
          <span className={classes.note}>({formatPpmDelta(after - before)})</span>
        </li>
      ))}
    </ul>
  );
}

function Conflict({
  job,
  change,
  conflict,
}: {
  job: Job;
  change: MixChange;
  conflict: NonNullable<MixChange["conflict"]>;
}) {
  const { base, theirs, difference } = conflict;
  const order = job.mix.map(({ source }) => source);
  return (
    <ThreeWayTable
      before={base === null ? "Before" : `Before, v${base.version}`}
      theirs={`Now, v${theirs.version} by ${theirs.author}`}
      mine={`This change, by ${change.author}`}
      rows={difference.map(({ source, base_ppm, theirs_ppm, ours_ppm }) => ({
        source,
        index: order.indexOf(source),
        before: base_ppm === null ? null : ppm(base_ppm),
        theirs: ppm(theirs_ppm),
        mine: ppm(ours_ppm),
      }))}
    />
  );
}
