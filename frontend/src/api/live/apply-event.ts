import type { InfiniteData, QueryClient } from "@tanstack/react-query";

import { alertsKey } from "../queries/alerts";
import { changesKey } from "../queries/changes";
import { figuresKey } from "../queries/figure";
import { jobKey, jobQuery } from "../queries/job";
import { mixKey, mixQuery, versionsKey } from "../queries/mix";
import { heldRanksPaceMs, ranksKey } from "../queries/ranks";
import type {
  ActivationEvent,
  ChangeEvent,
  JobListed,
  JobPage,
  JobSummary,
  MixEvent,
  SnapshotEvent,
} from "../types";

import type { LiveEvent } from "./event-stream";
import type { KeyedThrottle } from "./throttle";

/** The events the server sends, by name. */
export const EVENT_NAMES = ["snapshot", "job", "mix", "activation", "change", "alert"] as const;

function patchJob(client: QueryClient, job: JobSummary): boolean {
  client.setQueryData(jobQuery(job.id).queryKey, (old) =>
    old === undefined ? old : { ...old, ...job },
  );
  let listed = false;
  client.setQueriesData<InfiniteData<JobPage, string>>({ queryKey: ["jobs"] }, (old) => {
    if (!old?.pages.some((page) => page.items.some(({ id }) => id === job.id))) return old;
    listed = true;
    // A list's item holds more than an event carries, such as its line of throughput: that stays.
    const patch = (item: JobListed) => (item.id === job.id ? { ...item, ...job } : item);
    return { ...old, pages: old.pages.map((page) => ({ ...page, items: page.items.map(patch) })) };
  });
  return listed;
}

/** A list that is being fetched, or its next page, is let finish: events come faster than a slow answer. */
function refreshLists(client: QueryClient): void {
  void client.invalidateQueries({ queryKey: ["jobs"] }, { cancelRefetch: false });
}

function onJob(client: QueryClient, throttle: KeyedThrottle, job: JobSummary): void {
  if (!patchJob(client, job)) {
    throttle.run("jobs", () => refreshLists(client));
  }
  throttle.run(`reports:${job.id}`, () => {
    void client.invalidateQueries({ queryKey: figuresKey(job.id) });
  });
  throttle.run(
    `ranks:${job.id}`,
    () => client.invalidateQueries({ queryKey: ranksKey(job.id) }, { cancelRefetch: false }),
    heldRanksPaceMs(client, job.id),
  );
}

function onMix(client: QueryClient, { job: jobId, version }: MixEvent): void {
  client.setQueryData(mixQuery(jobId).queryKey, (old) =>
    old !== undefined && old.version > version.version ? old : version,
  );
  void client.invalidateQueries({ queryKey: versionsKey(jobId) });
  void client.invalidateQueries({ queryKey: jobQuery(jobId).queryKey });
}

/**
 * Brings the query cache up to date with one event: what the event carries is put in place, what it only
 * announces is fetched again, at most as often as `throttle` lets it. An unknown event changes nothing.
 */
export function applyEvent(client: QueryClient, throttle: KeyedThrottle, event: LiveEvent): void {
  switch (event.name) {
    case "snapshot":
      // After a gap anything may have changed, the figures and versions too.
      for (const job of (event.data as SnapshotEvent).jobs) patchJob(client, job);
      void client.invalidateQueries({ predicate: ({ queryKey }) => queryKey[0] !== "session" });
      break;
    case "job":
      onJob(client, throttle, event.data as JobSummary);
      break;
    case "mix": {
      onMix(client, event.data as MixEvent);
      throttle.run("audit", () => void client.invalidateQueries({ queryKey: ["audit"] }));
      break;
    }
    case "activation": {
      const { job } = event.data as ActivationEvent;
      void client.invalidateQueries({ queryKey: mixKey(job) });
      throttle.run(
        `activation:${job}`,
        () => void client.invalidateQueries({ queryKey: jobKey(job) }),
      );
      break;
    }
    case "change":
      void client.invalidateQueries({ queryKey: changesKey((event.data as ChangeEvent).job) });
      throttle.run("audit", () => void client.invalidateQueries({ queryKey: ["audit"] }));
      // Lists count what waits.
      throttle.run("jobs", () => refreshLists(client));
      break;
    case "alert":
      throttle.run("alerts", () => void client.invalidateQueries({ queryKey: alertsKey }));
      break;
  }
}
