import { Link } from "@tanstack/react-router";

import type { JobSummary } from "@/api/types";
import { CopyableId } from "@/components/copyable-id";
import { DataWait } from "@/components/data-wait";
import { MixBar } from "@/components/mix-bar";
import { StateBadge } from "@/components/state-badge";
import { StepProgress } from "@/components/step-progress";
import { Age } from "@/components/time";
import { formatRate } from "@/lib/format";
import { ppm, share, tokensPerSecond } from "@/lib/units";

import classes from "./jobs-page.module.css";

/** One job as a row of the table, or as a card where the screen is narrow. */
export function JobRow({ job }: { job: JobSummary }) {
  const rate = job.tokens_per_s === null ? null : tokensPerSecond(job.tokens_per_s);
  const wait = job.data_wait_share === null ? null : share(job.data_wait_share);
  return (
    <tr role="row" className={classes.row}>
      <th role="rowheader" scope="row" className={classes.name}>
        <Link to="/jobs/$jobId" params={{ jobId: job.id }} search={{}}>
          {job.name}
        </Link>
        <CopyableId id={job.id} label="job id" />
      </th>
      <td role="cell" data-label="State" className={classes.half}>
        <StateBadge state={job.state} />
        <p className={classes.reason}>{job.state_reason}</p>
      </td>
      <td role="cell" data-label="Step" className={classes.step}>
        <StepProgress step={job.step} totalSteps={job.total_steps} />
      </td>
      <td role="cell" data-label="Speed" className={classes.number}>
        {formatRate(rate)}
      </td>
      <td role="cell" data-label="Ranks live" className={classes.number}>
        {job.ranks_live} / {job.ranks_total}
      </td>
      <td role="cell" data-label="Data wait" className={classes.number}>
        <DataWait wait={wait} />
      </td>
      <td role="cell" data-label="Mix" className={classes.mix}>
        <MixBar
          label="Mix"
          parts={job.mix.map((part) => ({ source: part.source, ppm: ppm(part.target_ppm) }))}
        />
        <MixLine job={job} />
      </td>
      <td role="cell" data-label="Age" className={classes.number}>
        <Age at={job.created_at} suffix="" />
      </td>
    </tr>
  );
}

function MixLine({ job }: { job: JobSummary }) {
  const inForce = job.mix_version_in_force;
  return (
    <p className={classes.reason}>
      {inForce === null ? "none in force" : `v${inForce} in force`}
      {job.pending_change !== null && (
        <Link to="/jobs/$jobId/mix" params={{ jobId: job.id }} className={classes.pending}>
          v{job.pending_change.version} {job.pending_change.life.state}
        </Link>
      )}
    </p>
  );
}
