import { QueryClient } from "@tanstack/react-query";
import { afterEach, beforeEach, expect, it, vi } from "vitest";

import { job, JOB_ID, listedJob, mixVersion } from "@/testing/fixtures";

import { openChangesQuery } from "../queries/changes";
import { figureQuery, WHOLE_FIGURE } from "../queries/figure";
import { jobQuery } from "../queries/job";
import { jobsQuery } from "../queries/jobs";
import { mixQuery } from "../queries/mix";

import { applyEvent } from "./apply-event";
import { KeyedThrottle } from "./throttle";

const client = new QueryClient();
let throttle: KeyedThrottle;
const listKey = jobsQuery({ project: "default" }).queryKey;
const figureKey = figureQuery(JOB_ID, "mix", WHOLE_FIGURE, "light").queryKey;

beforeEach(() => {
  vi.useFakeTimers();
  throttle = new KeyedThrottle(2000);
  client.clear();
});

afterEach(() => {
  throttle.stop();
  vi.useRealTimers();
});

it("puts a job's new state into the list and the job's page, keeping what the summary lacks", () => {
  client.setQueryData(jobQuery(JOB_ID).queryKey, job());
  client.setQueryData(listKey, {
    pages: [{ items: [listedJob()], next_cursor: null }],
    pageParams: [""],
  });
  const { sources, ...summary } = job({ step: 1600 });
  applyEvent(client, throttle, { name: "job", data: summary });
  expect(client.getQueryData(jobQuery(JOB_ID).queryKey)).toMatchObject({ step: 1600, sources });
  // What only lists carry is not erased by an event that doesn't.
  expect(client.getQueryData(listKey)?.pages[0]?.items[0]).toMatchObject({
    step: 1600,
    tokens_per_s_by_minute: listedJob().tokens_per_s_by_minute,
    changes_waiting: 0,
  });
});

it("asks for the list again when a job is not in it", () => {
  client.setQueryData(listKey, { pages: [{ items: [], next_cursor: null }], pageParams: [""] });
  applyEvent(client, throttle, { name: "job", data: job() });
  expect(client.getQueryState(listKey)?.isInvalidated).toBe(true);
});

it("asks for charts at most once in the throttle's time, and once more after it", () => {
  const invalidate = vi.spyOn(client, "invalidateQueries");
  const charts = () =>
    invalidate.mock.calls.filter(([filter]) => filter?.queryKey?.[2] === "figures").length;
  for (let event = 0; event < 5; event += 1)
    applyEvent(client, throttle, { name: "job", data: job() });
  expect(charts()).toBe(1);
  vi.advanceTimersByTime(2000);
  expect(charts()).toBe(2);
  vi.advanceTimersByTime(60_000);
  expect(charts()).toBe(2);
});

it("shows a version's new life at once, and never goes back to an older version", () => {
  client.setQueryData(mixQuery(JOB_ID).queryKey, mixVersion({ version: 4 }));
  const say = (version: number, reason: string) =>
    applyEvent(client, throttle, {
      name: "mix",
      data: { job: JOB_ID, version: mixVersion({ version, reason }) },
    });
  say(3, "older");
  expect(client.getQueryData(mixQuery(JOB_ID).queryKey)?.version).toBe(4);
  say(4, "same, further");
  expect(client.getQueryData(mixQuery(JOB_ID).queryKey)?.reason).toBe("same, further");
  say(5, "newer");
  expect(client.getQueryData(mixQuery(JOB_ID).queryKey)?.version).toBe(5);
});

it("asks for everything but the session again after a snapshot", () => {
  client.setQueryData(["session"], { user: { username: "ada" } });
  client.setQueryData(figureKey, undefined);
  client.setQueryData(listKey, { pages: [], pageParams: [] });
  applyEvent(client, throttle, { name: "snapshot", data: { jobs: [job()] } });
  expect(client.getQueryState(listKey)?.isInvalidated).toBe(true);
  expect(client.getQueryState(["session"])?.isInvalidated).toBe(false);
});

it("asks for the changes of a job again when one moved, and for alerts when one did", () => {
  const changes = openChangesQuery(JOB_ID).queryKey;
  client.setQueryData(changes, { pages: [], pageParams: [] });
  client.setQueryData(["alerts", "list"], []);
  applyEvent(client, throttle, {
    name: "change",
    data: { job: JOB_ID, change: "00000000-0000-4000-8000-000000000009", state: "scheduled" },
  });
  expect(client.getQueryState(changes)?.isInvalidated).toBe(true);
  expect(client.getQueryState(["alerts", "list"])?.isInvalidated).toBe(false);
  applyEvent(client, throttle, {
    name: "alert",
    data: { job: JOB_ID, alert: "a", state: "firing" },
  });
  expect(client.getQueryState(["alerts", "list"])?.isInvalidated).toBe(true);
});

it("leaves everything as it is after an event it does not know", () => {
  client.setQueryData(listKey, { pages: [], pageParams: [] });
  applyEvent(client, throttle, { name: "weather", data: {} });
  expect(client.getQueryState(listKey)?.isInvalidated).toBe(false);
});
