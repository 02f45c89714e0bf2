import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";

import { openChangesQuery } from "@/api/queries/changes";
import { openAlertsQuery } from "@/api/queries/job";
import type { Job } from "@/api/types";
import { plural } from "@/lib/format";

import classes from "./job-header.module.css";

/** What somebody should look at now, in words, each with the way to it; nothing where all is well. */
export function Attention({ job }: { job: Job }) {
  const items = [...useAlerts(job.id), ...useChanges(job), ...stuckVersion(job)];
  if (items.length === 0) return null;
  return (
    <ul className={classes.attention} aria-label="Needs attention">
      {items}
    </ul>
  );
}

function Item({ tone, children }: { tone: "bad" | "warn"; children: ReactNode }) {
  return (
    <li className={classes.alert} data-tone={tone}>
      {children}
    </li>
  );
}

function useAlerts(jobId: string): ReactNode[] {
  const { data } = useQuery(openAlertsQuery(jobId));
  const alerts = data?.items ?? [];
  const [newest] = alerts;
  if (newest === undefined) return [];
  const isMore = data?.next_cursor != null;
  const firing = alerts.some(({ state }) => state === "firing");
  return [
    <Item key="alerts" tone={firing ? "bad" : "warn"}>
      <Link to="/alerts" search={{ job: jobId }}>
        {isMore ? `More than ${plural(alerts.length, "alert")}` : plural(alerts.length, "alert")}{" "}
        {firing ? "firing" : "acknowledged, still firing"}
      </Link>
      : {newest.message}
    </Item>,
  ];
}

const CHANGES = {
  needs_attention: { tone: "bad", is: "needs attention" },
  awaiting_approval: { tone: "warn", is: "waits for approval" },
} as const;

function useChanges(job: Job): ReactNode[] {
  const { data } = useInfiniteQuery(openChangesQuery(job.id));
  const changes = data?.pages.flatMap((page) => page.items) ?? [];
  return Object.entries(CHANGES).flatMap(([state, { tone, is }]) => {
    const found = changes.filter((change) => change.state === state);
    const [newest] = found;
    if (newest === undefined) return [];
    return [
      <Item key={state} tone={tone}>
        <Link to="/jobs/$jobId/mix" params={{ jobId: job.id }}>
          {found.length === 1
            ? `A change of the mix ${is}`
            : `${found.length} changes of the mix: each ${is}`}
        </Link>
        : “{newest.reason}”, by {newest.author}
      </Item>,
    ];
  });
}

/** A version that takes longer than it should on its way to the ranks. */
function stuckVersion({ id, pending_change: pending }: Job): ReactNode[] {
  if (!pending?.life.waiting?.stuck) return [];
  return [
    <Item key="stuck" tone="warn">
      <Link to="/jobs/$jobId/mix" params={{ jobId: id }}>
        Version {pending.version} of the mix is held up
      </Link>
      : {pending.life.waiting.message}
    </Item>,
  ];
}
