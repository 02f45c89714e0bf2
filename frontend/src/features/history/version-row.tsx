import { useRef, useState } from "react";

import type { Activation, Attempt, MixVersion } from "@/api/types";
import { QuietButton } from "@/components/quiet-button";
import { StateBadge } from "@/components/state-badge";
import { Moment } from "@/components/time";
import { formatCount, plural } from "@/lib/format";
import { readKept } from "@/lib/kept";
import { mixDifference } from "@/lib/mix-difference";
import { useScrollToHash } from "@/lib/use-scroll-to-hash";

import classes from "./history-page.module.css";
import { isKeptRevert, revertName } from "./kept-revert";
import { RevertForm } from "./revert-form";
import { VersionDifference } from "./version-difference";
import { WhereApplied } from "./where-applied";

interface Props {
  jobId: string;
  version: MixVersion;
  /** The version it was made from; undefined for the first and for one on a page not loaded yet. */
  parent: MixVersion | undefined;
  newest: MixVersion;
  /** Where it took effect. */
  activations: readonly Activation[];
  attempts: readonly Attempt[];
  /** Who may revert here; null for a reader who may not. */
  reader: string | null;
}

/** One version of the mix. */
export function VersionRow(props: Props) {
  const { jobId, version, parent, newest, activations, attempts, reader } = props;
  const [asked, setReverting] = useState<boolean | null>(null);
  const kept = reader === null ? null : readKept(reader, revertName(jobId), isKeptRevert);
  const reverting = asked ?? kept?.version === version.version;
  const differs = mixDifference(newest.weights_ppm, version.weights_ppm).length > 0;
  const titleId = `version-${version.version}`;
  const ref = useRef<HTMLLIElement>(null);
  useScrollToHash(ref, titleId);
  return (
    <li ref={ref} className={classes.version} aria-labelledby={titleId}>
      <div className={classes.head}>
        <h3 id={titleId} className={classes.number}>
          v{version.version}
        </h3>
        <StateBadge state={version.life.state} />
        <span className={classes.who}>
          {version.author}, <Moment at={version.created_at} />
          {version.origin === "local" && ", from the training script"}
          {version.reverts !== null && `, back to v${version.reverts}`}
          {version.approved_by !== null && `, approved by ${version.approved_by}`}
          {version.change !== null && version.approved_by === null && ", as scheduled"}
        </span>
        {differs && !reverting && reader !== null && (
          <span className={classes.revert}>
            <QuietButton framed onClick={() => setReverting(true)}>
              Revert to v{version.version}
            </QuietButton>
          </span>
        )}
      </div>
      <p className={classes.reason}>{version.reason}</p>
      <VersionDifference version={version} parent={parent} />
      <p className={classes.note}>
        <WhenAndWhere version={version} />
      </p>
      <WhereApplied
        jobId={jobId}
        version={version.version}
        activations={activations}
        attempts={attempts}
      />
      {reverting && reader !== null && (
        <RevertForm
          jobId={jobId}
          version={version}
          newest={newest}
          reader={reader}
          onDone={() => setReverting(false)}
        />
      )}
    </li>
  );
}

function WhenAndWhere({
  version: { life, from_step: fromStep, ramp_steps: rampSteps },
}: {
  version: MixVersion;
}) {
  const parts = [
    fromStep !== null && `asked for step ${formatCount(fromStep)}`,
    rampSteps > 0 && `ramp of ${plural(rampSteps, "step")}`,
    life.agreed_step !== null && `agreed at step ${formatCount(life.agreed_step)}`,
    life.total_ranks > 0 &&
      `applied on ${formatCount(life.applied_ranks)} of ${plural(life.total_ranks, "rank")}`,
  ].filter((part) => part !== false);
  return <>{parts.join(" · ")}</>;
}
