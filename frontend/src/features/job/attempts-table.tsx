import { useQuery } from "@tanstack/react-query";
import { useRef } from "react";

import { attemptsQuery } from "@/api/queries/attempts";
import type { Attempt } from "@/api/types";
import { NumberTable } from "@/components/number-table";
import { StateBadge } from "@/components/state-badge";
import { Moment } from "@/components/time";
import { formatCount, UNKNOWN } from "@/lib/format";
import { useScrollToHash } from "@/lib/use-scroll-to-hash";

import classes from "./job-page.module.css";

/** The job's starts, newest first: the record that a mark of a start opens. */
export function AttemptsTable({ jobId }: { jobId: string }) {
  const { data } = useQuery(attemptsQuery(jobId));
  if (data === undefined || data.length === 0) return null;
  return (
    <section className={classes.attempts}>
      <h2>Attempts</h2>
      <NumberTable
        label="Attempts"
        columns={[
          "Attempt",
          "Ranks",
          "Resumed from step",
          "Started",
          "Ended",
          "Leader’s host",
          "Loader",
        ]}
      >
        {data.toReversed().map((attempt) => (
          <Row key={attempt.id} attempt={attempt} />
        ))}
      </NumberTable>
    </section>
  );
}

function Row({ attempt }: { attempt: Attempt }) {
  const ref = useRef<HTMLTableRowElement>(null);
  useScrollToHash(ref, `attempt-${attempt.number}`);
  const { number, state, state_reason: reason, resumed_from_step: resumed } = attempt;
  return (
    <tr ref={ref} id={`attempt-${number}`}>
      <th scope="row">
        {number} <StateBadge state={state} />
        {reason !== null && <p className={classes.reason}>{reason}</p>}
      </th>
      <td>{formatCount(attempt.world_size)}</td>
      <td>{resumed === null ? "from the start" : formatCount(resumed)}</td>
      <td>
        <Moment at={attempt.started_at} />
      </td>
      <td>{attempt.ended_at === null ? UNKNOWN : <Moment at={attempt.ended_at} />}</td>
      <td>{attempt.hostname}</td>
      <td>{attempt.loader_version}</td>
    </tr>
  );
}
