import { Button } from "@mantine/core";
import { useInfiniteQuery } from "@tanstack/react-query";
import { useState, type RefObject } from "react";

import { openChangesQuery, settledChangesQuery } from "@/api/queries/changes";
import type { Job, MixChange, MixVersion } from "@/api/types";
import { ErrorState, LoadingState } from "@/components/page-states";
import { StateBadge } from "@/components/state-badge";
import { Moment } from "@/components/time";
import { plural } from "@/lib/format";

import type { ChangeRights } from "./change-actions";
import { ChangeCard } from "./change-card";
import { purposeOf } from "./change-words";
import classes from "./changes.module.css";

interface Props {
  job: Job;
  newest: MixVersion;
  rights: ChangeRights;
  heading: RefObject<HTMLHeadingElement | null>;
  onTakeUp?: (change: MixChange) => void;
}

/** Those that need somebody come first, the others by when they were made. */
const URGENCY: Partial<Record<MixChange["state"], number>> = {
  needs_attention: 0,
  awaiting_approval: 1,
};

/** Changes of the mix that wait, and what became of earlier ones. */
export function ChangeList({ job, newest, rights, heading, onTakeUp }: Props) {
  const open = useInfiniteQuery(openChangesQuery(job.id));
  const [earlier, setEarlier] = useState(false);
  const items = (open.data?.pages ?? [])
    .flatMap((page) => page.items)
    .sort((a, b) => (URGENCY[a.state] ?? 2) - (URGENCY[b.state] ?? 2));
  return (
    <section aria-labelledby="waiting-title">
      <h2 id="waiting-title" ref={heading} tabIndex={-1} className={classes.heading}>
        {items.length === 0 ? "No change waits" : `${plural(items.length, "change")} waiting`}
      </h2>
      {open.isPending && <LoadingState label="Loading the changes" rows={1} height={40} />}
      {open.isError && <ErrorState error={open.error} onRetry={() => void open.refetch()} />}
      {items.length > 0 && (
        <ol className={classes.list}>
          {items.map((change) => (
            <ChangeCard
              key={change.id}
              job={job}
              newest={newest}
              change={change}
              rights={rights}
              onTakeUp={onTakeUp}
            />
          ))}
        </ol>
      )}
      {open.hasNextPage && (
        <Button variant="default" size="xs" onClick={() => void open.fetchNextPage()}>
          Show older
        </Button>
      )}
      <button
        type="button"
        className={classes.more}
        aria-expanded={earlier}
        onClick={() => setEarlier(!earlier)}
      >
        {earlier ? "Hide earlier changes" : "Show earlier changes"}
      </button>
      {earlier && <Settled jobId={job.id} />}
    </section>
  );
}

function Settled({ jobId }: { jobId: string }) {
  const settled = useInfiniteQuery(settledChangesQuery(jobId));
  if (settled.isPending) return <LoadingState label="Loading earlier changes" rows={2} />;
  if (settled.data === undefined)
    return <ErrorState error={settled.error} onRetry={() => void settled.refetch()} />;
  const items = settled.data.pages.flatMap((page) => page.items);
  if (items.length === 0)
    return <p className={classes.note}>No change has waited for a step, a time or an approval.</p>;
  return (
    <>
      <ol className={classes.list} aria-label="Earlier changes">
        {items.map((change) => (
          <li key={change.id} className={classes.settled}>
            <StateBadge state={change.state} />
            <span>
              {change.version === null ? purposeOf(change, new Date()) : `v${change.version}`}
            </span>
            <span className={classes.words}>
              {change.author}: “{change.reason}”{change.why !== null && ` — ${change.why}`}
            </span>
            <span className={classes.who}>
              <Moment at={change.settled_at ?? change.created_at} />
            </span>
          </li>
        ))}
      </ol>
      {settled.hasNextPage && (
        <Button variant="default" size="xs" onClick={() => void settled.fetchNextPage()}>
          Show older
        </Button>
      )}
    </>
  );
}
