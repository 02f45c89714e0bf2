import type { MixVersion } from "@/api/types";
import { formatCount } from "@/lib/format";
import { formatSpan } from "@/lib/time";

import classes from "./life-track.module.css";
import { StateBadge } from "./state-badge";
import { Moment } from "./time";

/** What is still missing, for a reader who waits for it. */
const WAITING: Record<MixVersion["life"]["state"], string | null> = {
  proposed:
    "Waits for the job's leading rank, which asks for news every second while the job runs.",
  seen: "Waits for the ranks to agree on the first step with it.",
  agreed: "Waits for the ranks to reach the step and report it.",
  applied: null,
  superseded: "A newer version replaced it before the ranks agreed on it.",
};

/** The life of a version: proposed → seen → agreed at step N → applied on n of N ranks, each with its time. */
export function LifeTrack({ version }: { version: MixVersion }) {
  const { life } = version;
  const proposed = life.proposed_at;
  const applied = `Applied on ${formatCount(life.applied_ranks)} of ${formatCount(life.total_ranks)} ranks`;
  const agreed =
    life.agreed_step === null ? "Agreed" : `Agreed at step ${formatCount(life.agreed_step)}`;
  const waiting = life.waiting?.message ?? WAITING[life.state];
  return (
    <div className={classes.life} data-life={life.state}>
      <p className={classes.head}>
        <strong>v{version.version}</strong> <StateBadge state={life.state} />
        <span className={classes.who}>
          {version.author}: “{version.reason}”
        </span>
      </p>
      <ol className={classes.track} aria-label={`Life of v${version.version}`}>
        <Stage label="Proposed" at={proposed} />
        <Stage label="Seen" at={life.seen_at} since={proposed} />
        <Stage label={agreed} at={life.agreed_at} since={proposed} />
        <Stage label={applied} at={life.applied_at} since={proposed} />
      </ol>
      <p className={classes.waiting} role="status">
        {waiting}
      </p>
    </div>
  );
}

function Stage({ label, at, since }: { label: string; at: string | null; since?: string }) {
  return (
    <li className={classes.stage} data-done={at !== null}>
      <span className={classes.label}>{label}</span>
      <span className={classes.time}>
        {at === null ? "not yet" : <StageTime at={at} since={since} />}
      </span>
    </li>
  );
}

function StageTime({ at, since }: { at: string; since: string | undefined }) {
  return (
    <>
      <Moment at={at} />
      {since !== undefined && ` · +${formatSpan(since, at)}`}
    </>
  );
}
