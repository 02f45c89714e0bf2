import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";

import type { Job } from "@/api/types";
import { CopyableId } from "@/components/copyable-id";
import { DataWait } from "@/components/data-wait";
import { MixBar } from "@/components/mix-bar";
import { StateBadge } from "@/components/state-badge";
import { StepProgress } from "@/components/step-progress";
import { Age } from "@/components/time";
import { formatCount, formatRate, formatTokens } from "@/lib/format";
import { useNumberStyle } from "@/lib/number-style";
import { ppm, share, tokens, tokensPerSecond } from "@/lib/units";

import { Attention } from "./attention";
import classes from "./job-header.module.css";
import { MixInForce } from "./mix-in-force";

/** Answers at a glance: is the job healthy, is it fed, what mix does it train on and since when. */
export function JobHeader({ job }: { job: Job }) {
  useNumberStyle();
  return (
    <header>
      <p className={classes.crumbs}>
        <Link to="/jobs">Jobs</Link> <span aria-hidden="true">/</span>{" "}
        <CopyableId id={job.id} label="job id" />
      </p>
      <div className={classes.title}>
        <h1>{job.name}</h1>
        <StateBadge state={job.state} />
        <span className={classes.reason}>{job.state_reason}</span>
      </div>
      <Attention job={job} />
      <dl className={classes.facts}>
        <Fact label="Step">
          <StepProgress step={job.step} totalSteps={job.total_steps} />
          <p className={classes.note}>{formatTokens(tokens(job.tokens))}</p>
        </Fact>
        <Fact label="Speed, all ranks">
          {formatRate(job.tokens_per_s === null ? null : tokensPerSecond(job.tokens_per_s))}
          <p className={classes.note}>
            {job.last_report_at === null ? "no report yet" : <LastReport job={job} />}
          </p>
        </Fact>
        <Fact label="Waiting for data">
          <DataWait wait={job.data_wait_share === null ? null : share(job.data_wait_share)} />
          <p className={classes.note}>mean over ranks</p>
        </Fact>
        <Fact label="Ranks live">
          {formatCount(job.ranks_live)} of {formatCount(job.ranks_total)}
          <p className={classes.note}>
            {job.attempt === null ? "not started" : `attempt ${job.attempt}`}
          </p>
        </Fact>
        <Fact label="Mix in force" wide>
          <MixBar
            label="Target"
            parts={job.mix.map((part) => ({ source: part.source, ppm: ppm(part.target_ppm) }))}
          />
          <MixInForce job={job} />
        </Fact>
      </dl>
    </header>
  );
}

function LastReport({ job }: { job: Job }) {
  return job.last_report_at === null ? null : (
    <>
      last report <Age at={job.last_report_at} />
    </>
  );
}

function Fact({
  label,
  wide = false,
  children,
}: {
  label: string;
  wide?: boolean;
  children: ReactNode;
}) {
  return (
    <div className={classes.fact} data-wide={wide}>
      <dt>{label}</dt>
      <dd>{children}</dd>
    </div>
  );
}
