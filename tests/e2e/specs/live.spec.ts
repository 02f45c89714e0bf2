import { environment } from "./environment";
import { expect, shownStep, test } from "./harness";

test("polls when no events arrive, says so, and is live again once they do", async ({
  page,
  jobId,
  watch,
}) => {
  watch.allow(/ERR_FAILED.*\/api\/v1\/events/);
  await page.route("**/api/v1/events*", (route) => route.abort());
  await page.goto(`/jobs/${jobId}`);
  await expect(page.getByText(/^Not live: polling, last update \d+ s ago$/)).toBeVisible();
  const step = await shownStep(page);
  await expect.poll(() => shownStep(page)).toBeGreaterThan(step);

  await page.unroute("**/api/v1/events*");
  await expect(page.getByText("Live", { exact: true })).toBeVisible({ timeout: 30_000 });
});

test("keeps what it last showed when the server is gone, and says how old it is", async ({
  page,
  jobId,
  watch,
}) => {
  watch.allow(/ERR_FAILED/);
  await page.route("**/api/v1/events", (route) => route.abort());
  await page.goto(`/jobs/${jobId}`);
  await expect(page.getByText(/^Not live: polling/)).toBeVisible();
  await page.route("**/api/v1/**", (route) => route.abort());
  await expect(page.getByText(/^Not live: last update \d+ s ago, retrying$/)).toBeVisible();
  await expect(page.getByRole("heading", { level: 1, name: environment.job })).toBeVisible();

  const step = await shownStep(page);
  await page.unrouteAll();
  await expect(page.getByText("Live", { exact: true })).toBeVisible({ timeout: 30_000 });
  await expect.poll(() => shownStep(page)).toBeGreaterThan(step);
});

test("opens once the server is back", async ({ page, watch }) => {
  watch.allow(/ERR_FAILED|Failed to fetch/);
  await page.route("**/api/v1/**", (route) => route.abort());
  await page.goto("/jobs");
  await expect(page.getByText(/can't be reached/)).toBeVisible();
  await page.unrouteAll();
  await page.getByRole("button", { name: "Try again" }).click();
  await expect(page.getByRole("link", { name: environment.job })).toBeVisible();
});
