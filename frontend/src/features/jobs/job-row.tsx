import { Checkbox } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import { memo } from "react";

import type { JobListed } from "@/api/types";
import { CopyableId } from "@/components/copyable-id";
import { DataWait } from "@/components/data-wait";
import { MixBar } from "@/components/mix-bar";
import { Sparkline } from "@/components/sparkline";
import { StateBadge } from "@/components/state-badge";
import { StepProgress } from "@/components/step-progress";
import { formatCount, formatRate } from "@/lib/format";
import { formatUtc } from "@/lib/time";
import { ppm, share, tokensPerSecond } from "@/lib/units";

import { ArchiveButton } from "./archive-button";
import { JobTags } from "./job-tags";
import classes from "./jobs-page.module.css";

export interface RowProps {
  job: JobListed;
  /** Its place in the list, and what tells the list how high it is. */
  index: number;
  measure: (row: HTMLTableRowElement | null) => void;
  /** How old the job is, in words: the only thing of a row that time alone changes. */
  age: string;
  selected: boolean;
  /** Whether another one may be chosen to be compared. */
  selectable: boolean;
  onSelect: (id: string, selected: boolean) => void;
  mayOperate: boolean;
}

/** One job as a row of the table, or as a card where the screen is narrow. Drawn again only when it changes. */
export const JobRow = memo(function JobRow({ index, measure, ...props }: RowProps) {
  const { job, age, mayOperate } = props;
  const rate = job.tokens_per_s === null ? null : tokensPerSecond(job.tokens_per_s);
  const wait = job.data_wait_share === null ? null : share(job.data_wait_share);
  return (
    <tr
      role="row"
      className={classes.row}
      data-selected={props.selected || undefined}
      ref={measure}
      data-index={index}
      aria-rowindex={index + 2}
    >
      <td role="cell" className={classes.choice}>
        <Choice {...props} />
      </td>
      <th role="rowheader" scope="row" className={classes.name}>
        <Link to="/jobs/$jobId" params={{ jobId: job.id }} search={{}}>
          {job.name}
        </Link>
        <span className={classes.under}>
          <CopyableId id={job.id} label="job id" />
          {mayOperate && <ArchiveButton job={job} />}
          <JobTags job={job} mayOperate={mayOperate} />
        </span>
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
        <span className={classes.spark}>
          <Sparkline label="Tokens/s" values={job.tokens_per_s_by_minute} />
        </span>
      </td>
      <td role="cell" data-label="Ranks live" className={classes.number}>
        {formatCount(job.ranks_live)} / {formatCount(job.ranks_total)}
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
      <td role="cell" data-label="Owner, age" className={classes.owner}>
        <Link to="/jobs" search={{ owner: job.owner, project: job.project }}>
          {job.owner}
        </Link>
        <time dateTime={job.created_at} title={formatUtc(job.created_at)}>
          {age}
        </time>
      </td>
    </tr>
  );
});

function Choice({ job, selected, selectable, onSelect }: Omit<RowProps, "index" | "measure">) {
  return (
    <Checkbox
      size="xs"
      aria-label={`Compare ${job.name}`}
      title={selectable || selected ? undefined : "Ten jobs at most are compared at once"}
      checked={selected}
      disabled={!selected && !selectable}
      onChange={(event) => onSelect(job.id, event.currentTarget.checked)}
    />
  );
}

function MixLine({ job }: { job: JobListed }) {
  const inForce = job.mix_version_in_force;
  const waiting = job.changes_waiting;
  return (
    <p className={classes.reason}>
      {inForce === null ? "none in force" : `v${inForce} in force`}
      {job.pending_change !== null && (
        <Link to="/jobs/$jobId/mix" params={{ jobId: job.id }} className={classes.pending}>
          v{job.pending_change.version} {job.pending_change.life.state}
        </Link>
      )}
      {waiting > 0 && (
        <Link to="/jobs/$jobId/mix" params={{ jobId: job.id }} className={classes.pending}>
          {waiting === 1 ? "1 change waits" : `${waiting} changes wait`}
        </Link>
      )}
    </p>
  );
}
