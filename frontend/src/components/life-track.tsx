import type { MixChange, MixVersion } from "@/api/types";

import { versionStages } from "./life-stages";
import classes from "./life-track.module.css";
import { StageTrack } from "./stage-track";
import { StateBadge } from "./state-badge";

/** What is still missing, for a reader who waits for it. */
const WAITING: Record<MixVersion["life"]["state"], string | null> = {
  proposed:
    "Waits for the job's leading rank, which asks for news every second while the job runs.",
  seen: "Waits for the ranks to agree on the first step with it.",
  agreed: "Waits for the ranks to reach the step and report it.",
  applied: null,
  superseded: "A newer version replaced it before the ranks agreed on it.",
};

interface Props {
  version: MixVersion;
  /** The change that became it, if one did and it is known. */
  change?: MixChange | undefined;
}

/** The life of a version as steps with their times, from the change that it was, and what it waits for in words. */
export function LifeTrack({ version, change }: Props) {
  const { life } = version;
  return (
    <div className={classes.life} data-life={life.state}>
      <p className={classes.head}>
        <strong>v{version.version}</strong> <StateBadge state={life.state} />
        <span className={classes.who}>
          {version.author}: “{version.reason}”
        </span>
      </p>
      <StageTrack
        label={`Life of v${version.version}`}
        stages={versionStages(version, change)}
        waiting={life.waiting?.message ?? WAITING[life.state]}
      />
    </div>
  );
}
