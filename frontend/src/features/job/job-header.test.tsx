import { screen, within } from "@testing-library/react";
import { http, HttpResponse } from "msw";
import { beforeEach, expect, it } from "vitest";

import type { Job } from "@/api/types";
import { job, JOB_ID, mixVersion } from "@/testing/fixtures";
import { renderPage } from "@/testing/render";
import { at, server } from "@/testing/server";

import { JobHeader } from "./job-header";

const alerts = (items: object[]) =>
  http.get(at("/alerts"), ({ request }) => {
    expect(new URL(request.url).searchParams.get("job")).toBe(JOB_ID);
    return HttpResponse.json({ items, next_cursor: null });
  });
const changes = (items: object[]) =>
  http.get(at(`/jobs/${JOB_ID}/mix/changes`), () =>
    HttpResponse.json({ items, next_cursor: null }),
  );

beforeEach(() =>
  server.use(
    alerts([]),
    changes([]),
    http.get(at(`/jobs/${JOB_ID}/mix/versions`), () =>
      HttpResponse.json({ items: [mixVersion({ version: 4 }), mixVersion()], next_cursor: null }),
    ),
  ),
);

async function facts(shown: Job): Promise<Record<string, string | null>> {
  renderPage(<JobHeader job={shown} />);
  await screen.findByRole("heading", { name: shown.name });
  const terms = screen.getAllByRole("term");
  return Object.fromEntries(
    terms.map((term) => [term.textContent, term.nextElementSibling?.textContent ?? null]),
  );
}

it("says whether the job is healthy and fed, and which mix it trains on since when", async () => {
  const shown = await facts(job());
  expect(screen.getByText("running")).toBeDefined();
  expect(shown["Waiting for data"]).toBe("0.4 % fedmean over ranks");
  expect(shown["Ranks live"]).toBe("2 of 2attempt 1");
  const since = await screen.findByText(/^v3 since step 1 204,/);
  expect(within(since).getByRole("time").getAttribute("title")).toBe("2026-11-30 10:00:01 UTC");
});

it.each([
  [0.009, "0.9 % fed"],
  [0.02, "2.0 % waits at times"],
  [0.3, "30.0 % starved"],
])("gives the verdict on a wait share of %d", async (wait, text) => {
  expect((await facts(job({ data_wait_share: wait })))["Waiting for data"]).toContain(text);
});

it("says of a job that has not started what is not known", async () => {
  const shown = await facts(
    job({
      state: "waiting",
      step: null,
      tokens_per_s: null,
      data_wait_share: null,
      attempt: null,
      last_report_at: null,
      mix_version_in_force: null,
    }),
  );
  expect(shown["Speed, all ranks"]).toBe("–no report yet");
  expect(shown["Waiting for data"]).toContain("–");
  expect(shown["Ranks live"]).toContain("not started");
  expect(shown["Mix in force"]).toContain("none in force yet");
});

it("points to a change on its way", async () => {
  const pending = mixVersion({ version: 4, life: { ...mixVersion().life, state: "agreed" } });
  await facts(job({ pending_change: pending }));
  expect(screen.getByRole("link", { name: "v4 agreed" }).getAttribute("href")).toBe(
    `/jobs/${JOB_ID}/mix`,
  );
});

it("says in words what needs somebody, and leads there", async () => {
  server.use(
    alerts([
      { id: "1", state: "acknowledged", message: "rank 3 on host a last reported 95 s ago" },
      { id: "2", state: "firing", message: "the run waits for data" },
    ]),
    changes([
      { id: "3", state: "awaiting_approval", reason: "more code", author: "ada" },
      { id: "4", state: "needs_attention", reason: "less prose", author: "bob" },
      { id: "5", state: "done", reason: "long ago", author: "ada" },
    ]),
  );
  const waiting = { code: "leader", message: "the leader was not heard", since: "", stuck: true };
  const held = mixVersion({ version: 4 });
  await facts(
    job({ pending_change: { ...held, life: { ...held.life, waiting: waiting as never } } }),
  );
  const list = await screen.findByRole("list", { name: "Needs attention" });
  await within(list).findByText(/waits for approval/);
  await within(list).findByText(/firing/);
  expect(
    within(list)
      .getAllByRole("listitem")
      .map((item) => item.textContent),
  ).toEqual([
    "2 alerts firing: rank 3 on host a last reported 95 s ago",
    "A change of the mix needs attention: “less prose”, by bob",
    "A change of the mix waits for approval: “more code”, by ada",
    "Version 4 of the mix is held up: the leader was not heard",
  ]);
  expect(
    within(list)
      .getByRole("link", { name: /firing/ })
      .getAttribute("href"),
  ).toBe(`/alerts?job=${JOB_ID}`);
});

it("has no such list where all is well", async () => {
  await facts(job());
  expect(screen.queryByRole("list", { name: "Needs attention" })).toBeNull();
});
