import { Link } from "@tanstack/react-router";

import { errorMessage, hasStatus } from "@/api/problem";
import type { Job } from "@/api/types";
import { CopyableId } from "@/components/copyable-id";
import { MixBar } from "@/components/mix-bar";
import { QuietButton } from "@/components/quiet-button";
import { StateBadge } from "@/components/state-badge";
import { StepProgress } from "@/components/step-progress";
import { formatRate, plural } from "@/lib/format";
import { sourceColor } from "@/lib/source-colors";
import { ppm, tokensPerSecond } from "@/lib/units";

import classes from "./compare-page.module.css";

/** A job of the address: itself, or why it can't be shown. */
export interface ComparedJob {
  id: string;
  job: Job | undefined;
  error: Error | null;
  retry: () => void;
}

interface Props {
  compared: readonly ComparedJob[];
  /** How many parts of the address are left out. */
  left: number;
  onRemove: (id: string) => void;
}

/** As many colours as the charts have lines; from the ninth job on they come again, dashed. */
const NUM_COLORS = 8;

/** The jobs, each with the colour of its line; one that the reader may not see is said to be so. */
export function ComparedJobs({ compared, left, onRemove }: Props) {
  const drawn = compared.filter(({ job }) => job !== undefined);
  return (
    <>
      <ul className={classes.jobs} aria-label="Compared jobs">
        {compared.map((each) => (
          <li key={each.id} className={classes.job}>
            {each.job === undefined ? (
              <Missing {...each} />
            ) : (
              <Shown job={each.job} place={drawn.indexOf(each)} />
            )}
            <span className={classes.remove}>
              <QuietButton
                aria-label={`Take ${each.job?.name ?? each.id} out of the comparison`}
                onClick={() => onRemove(each.id)}
              >
                Remove
              </QuietButton>
            </span>
          </li>
        ))}
      </ul>
      {left > 0 && (
        <p className={classes.none} role="note">
          {plural(left, "part")} of the address left out: no id of a job, or more than ten.
        </p>
      )}
    </>
  );
}

function Shown({ job, place }: { job: Job; place: number }) {
  return (
    <>
      <p className={classes.name}>
        <svg width="22" height="8" aria-hidden="true" className={classes.swatch}>
          <line
            x1="0"
            y1="4"
            x2="22"
            y2="4"
            stroke={sourceColor(place % NUM_COLORS)}
            strokeWidth="3"
            strokeDasharray={place < NUM_COLORS ? undefined : "6 4"}
          />
        </svg>
        <Link to="/jobs/$jobId" params={{ jobId: job.id }} search={{}}>
          {job.name}
        </Link>
      </p>
      <p className={classes.facts}>
        <StateBadge state={job.state} />
        <span>
          {job.tokens_per_s === null ? null : formatRate(tokensPerSecond(job.tokens_per_s))}
        </span>
        <CopyableId id={job.id} label={`id of ${job.name}`} />
      </p>
      <StepProgress step={job.step} totalSteps={job.total_steps} />
      <MixBar
        label={`Mix of ${job.name}`}
        parts={job.mix.map((part) => ({ source: part.source, ppm: ppm(part.target_ppm) }))}
      />
    </>
  );
}

function Missing({ id, error, retry }: ComparedJob) {
  return (
    <>
      <p className={classes.name}>
        <CopyableId id={id} label="job id" />
      </p>
      {error === null ? (
        <p className={classes.reason}>Loading</p>
      ) : hasStatus(error, 404) || hasStatus(error, 403) ? (
        <p className={classes.reason} role="alert">
          Not compared: there is no such job, or you are no member of its project.
        </p>
      ) : (
        <p className={classes.reason} role="alert">
          Not compared: {errorMessage(error)} <QuietButton onClick={retry}>Try again</QuietButton>
        </p>
      )}
    </>
  );
}
