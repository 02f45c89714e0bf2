import type { Page } from "@playwright/test";

import { act, environment } from "../specs/environment";
import { expect, fact, shownStep, test } from "../specs/harness";

/** What a browser says of requests that a server that is away does not answer. */
const AWAY =
  /ERR_CONNECTION_REFUSED|ERR_CONNECTION_RESET|ERR_EMPTY_RESPONSE|ERR_INCOMPLETE_CHUNKED/;

const badge = (page: Page) => page.locator("h1 + *");
const rankRow = (page: Page, rank: number) =>
  page.getByRole("table", { name: "Ranks" }).getByRole("row", { name: new RegExp(`^${rank} `) });

/** A mark that only a page that was never loaded anew still has. */
const mark = (page: Page) => page.evaluate(() => Object.assign(window, { unbroken: true }));
const isUnbroken = (page: Page) =>
  page.evaluate(() => (window as { unbroken?: boolean }).unbroken === true);

/** The numbers of the reports that the server has of each rank. */
async function reports(page: Page, jobId: string): Promise<Map<string, number[]>> {
  const answer = await page.request.get(`/api/v1/jobs/${jobId}/export?what=reports`);
  const [head = [], ...lines] = (await answer.text())
    .trim()
    .split(/\r?\n/)
    .map((line) => line.split(","));
  const found = new Map<string, number[]>();
  for (const line of lines) {
    const rank = line[head.indexOf("rank")] ?? "";
    found.set(rank, [...(found.get(rank) ?? []), Number(line[head.indexOf("seq")])]);
  }
  return found;
}

/** Whether every rank has reported beyond `last`, with no number left out. */
const whole = (found: Map<string, number[]>, last: number) =>
  found.size === environment.ranks &&
  [...found.values()].every((numbers) => {
    const most = Math.max(...numbers);
    return most > last + 1 && new Set(numbers).size === most - Math.min(...numbers) + 1;
  });

// Servers and jobs that start take their time on a busy machine.
test.describe.configure({ timeout: 240_000 });

// A rank that a failed test left silent would fail the others too.
test.afterEach(() => act("continue-rank-1"));

test("names a rank that falls silent as lost, and shows it back (case V06)", async ({
  page,
  jobId,
}) => {
  await page.goto(`/jobs/${jobId}/ranks`);
  await expect(rankRow(page, 1).getByText("live", { exact: true })).toBeVisible();
  await mark(page);
  await act("pause-rank-1");
  await expect(rankRow(page, 1).getByText("lost", { exact: true })).toBeVisible();
  await expect(badge(page)).toHaveText("lost");
  await expect(page.getByText(/no word from rank 1 of 2/)).toBeVisible();
  await expect(fact(page, "Ranks live")).toContainText("1 of 2");
  await expect(page.getByText(/^State of 2 ranks: 1 lost, 1 live. Worst: rank 1/)).toBeVisible();

  await act("continue-rank-1");
  await expect(rankRow(page, 1).getByText("live", { exact: true })).toBeVisible();
  await expect(badge(page)).toHaveText("running");
  expect(await isUnbroken(page)).toBe(true);
});

test("says that the server is away, then catches up without a gap or a reload", async ({
  page,
  jobId,
  watch,
}) => {
  watch.allow(AWAY);
  await page.goto(`/jobs/${jobId}`);
  await expect(page.getByText("Live", { exact: true })).toBeVisible();
  await mark(page);
  const before = await shownStep(page);
  const last = Math.max(...[...(await reports(page, jobId)).values()].flat());
  await act("stop-server");
  await expect(page.getByText(/^Not live: /)).toBeVisible({ timeout: 60_000 });
  await expect(page.getByRole("heading", { level: 1, name: environment.job })).toBeVisible();

  await act("start-server");
  await expect(page.getByText("Live", { exact: true })).toBeVisible({ timeout: 60_000 });
  await expect.poll(() => shownStep(page), { timeout: 60_000 }).toBeGreaterThan(before);
  expect(await isUnbroken(page)).toBe(true);
  // Reports count up by one: what the ranks had to say while nobody listened has arrived, and what came after.
  await expect
    .poll(async () => whole(await reports(page, jobId), last), { timeout: 120_000 })
    .toBe(true);
  await expect(badge(page)).toHaveText("running");
});

test("calls a killed job lost, never finished, and running again once it is started anew (case V06)", async ({
  page,
  jobId,
}) => {
  await page.goto(`/jobs/${jobId}`);
  await expect(badge(page)).toHaveText("running");
  await mark(page);
  await act("kill-job");
  // After a restart of the server silence counts only once clients had time to come back.
  await expect(badge(page)).toHaveText("lost", { timeout: 60_000 });
  await expect(page.getByText(/no word from/)).toBeVisible();

  await act("start-job");
  await expect(badge(page)).toHaveText("running", { timeout: 60_000 });
  await expect(fact(page, "Ranks live")).toContainText("attempt 2");
  await expect(fact(page, "Ranks live")).toContainText("2 of 2");
  expect(await isUnbroken(page)).toBe(true);
});
