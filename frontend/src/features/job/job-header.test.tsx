import { screen, within } from "@testing-library/react";
import { http, HttpResponse } from "msw";
import { beforeEach, expect, it } from "vitest";

import type { Job } from "@/api/types";
import { job, JOB_ID, mixVersion } from "@/testing/fixtures";
import { renderPage } from "@/testing/render";
import { at, server } from "@/testing/server";

import { JobHeader } from "./job-header";

beforeEach(() =>
  server.use(
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
