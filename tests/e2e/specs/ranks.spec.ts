import type { Locator, Page } from "@playwright/test";

import { environment } from "./environment";
import { expect, test } from "./harness";

/** Ten thousand ranks come in five answers; a busy machine takes its time. */
const MANY_MS = 60_000;
const THIN_SPACE = "\u202f";

const rows = (page: Page) => page.getByRole("table", { name: "Ranks" }).getByRole("row");
/** The number in the first column of the first row. */
const firstRank = (page: Page) => rows(page).nth(1).getByRole("cell").first();
const heatMap = (page: Page): Locator =>
  page.getByRole("region", { name: "Heat map of the ranks" }).getByRole("slider");

test("shows the ranks of the training job with the file, row and epoch under each cursor", async ({
  page,
  jobId,
}) => {
  await page.goto(`/jobs/${jobId}/ranks`);
  const table = page.getByRole("table", { name: "Ranks" });
  await expect(rows(page)).toHaveCount(environment.ranks + 1);
  for (const source of ["code", "prose", "legal"]) {
    await expect(table.getByRole("columnheader", { name: source })).toHaveCount(1);
  }
  await expect(table.getByText(/\.arrow:\d+ · epoch \d+, \d+\.\d %/).first()).toBeVisible();
  await expect(page.getByText(/^State of 2 ranks: 2 live/)).toBeVisible();
});

test("opens a rank from its cell in the heat map by keyboard, and goes on to the next", async ({
  page,
  jobId,
}) => {
  await page.goto(`/jobs/${jobId}/ranks`);
  const map = heatMap(page);
  await map.focus();
  await expect(map).toHaveAttribute("aria-valuetext", /^rank 0, .+, live$/);
  await page.keyboard.press("ArrowRight");
  await expect(map).toHaveAttribute("aria-valuetext", /^rank 1, .+, live$/);
  await page.keyboard.press("Enter");
  await expect(page).toHaveURL(`${environment.url}/jobs/${jobId}/ranks/1`);
  await expect(page.getByRole("heading", { name: "Rank 1", exact: true })).toBeVisible();
  for (const name of ["throughput", "wait", "queue", "memory"]) {
    await expect(page.locator(`[data-figure=${name}] .main-svg`).first()).toBeVisible();
  }
  await expect(page.getByRole("heading", { name: "Throughput, rank 1" })).toBeVisible();
  await expect(page.getByRole("row", { name: /^code/ })).toContainText(/\.arrow\d+/);
  await page.getByRole("link", { name: "← Rank 0" }).click();
  await expect(page.getByRole("heading", { name: "Rank 0", exact: true })).toBeVisible();
  await page.getByRole("link", { name: "All ranks" }).click();
  await expect(rows(page)).toHaveCount(environment.ranks + 1);
});

test("says of a rank that there is none", async ({ page, jobId, watch }) => {
  watch.allow(/status of 404/);
  await page.goto(`/jobs/${jobId}/ranks/77`);
  await expect(page.getByRole("alert")).toContainText("rank 77 has not reported in attempt 1");
});

test("finds one of ten thousand: the slowest first, sorted, filtered, only what is in sight in the page", async ({
  page,
}) => {
  test.setTimeout(240_000);
  const slow = String(environment.bigSlowRank);
  const last = String(environment.bigRanks - 1);
  await page.goto(`/jobs/${environment.bigJob}/ranks?metric=step_lag`);
  await expect(
    page.getByRole("heading", { name: `10${THIN_SPACE}240 ranks`, exact: true }),
  ).toBeVisible({ timeout: MANY_MS });
  const table = page.getByRole("table", { name: "Ranks" });
  await expect(table).toHaveAttribute("aria-rowcount", String(environment.bigRanks + 1));
  expect(await rows(page).count()).toBeLessThan(80);
  await expect(firstRank(page)).toHaveText(slow);
  const worst = page.getByText(/^Step lag of 10.240 ranks: least 0 steps, median 0 steps, most 30/);
  await expect(worst.getByRole("link", { name: `rank ${slow}` })).toBeVisible();
  expect(await page.locator("main *").count()).toBeLessThan(3000);

  const [height] = await rowHeights(page);
  await table.getByRole("button", { name: "Rank" }).click();
  await expect(firstRank(page)).toHaveText(last);
  await table.getByRole("button", { name: "Rank" }).click();
  await expect(firstRank(page)).toHaveText("0");
  await expect(page).toHaveURL(/sort=rank&up=true/);
  expect(new Set(await rowHeights(page))).toEqual(new Set([height]));

  await page.getByRole("region", { name: /^Ranks, scroll/ }).focus();
  await page.keyboard.press("End");
  await expect(table.getByRole("cell", { name: last, exact: true })).toBeVisible();

  await page.getByRole("searchbox", { name: /^Filter by rank/ }).fill(`rank ${slow}`);
  await expect(rows(page)).toHaveCount(2);
  await page.reload();
  await expect(rows(page)).toHaveCount(2);
  await page.getByRole("button", { name: "Show all" }).click();
  await page.keyboard.press("Home");
  await table.getByRole("button", { name: "node-0 · 0" }).click();
  await expect(rows(page)).toHaveCount(9);
  await expect(page).toHaveURL(/host=node-0/);
});

test("points out a cell of ten thousand", async ({ page }) => {
  test.setTimeout(240_000);
  await page.goto(`/jobs/${environment.bigJob}/ranks?metric=wait_p99_ms`);
  const map = heatMap(page);
  await expect(map).toBeVisible({ timeout: MANY_MS });
  await map.hover({ position: { x: 2, y: 2 } });
  await expect(map.getByText("Rank 0")).toBeVisible();
  await expect(map.getByText(/node-0/)).toContainText("Wait, 99th percentile: 0.80 ms");
  await map.focus();
  await page.keyboard.press("End");
  await expect(map).toHaveAttribute("aria-valuenow", String(environment.bigRanks - 1));
  await page.keyboard.press("Enter");
  await expect(page).toHaveURL(new RegExp(`/ranks/${environment.bigRanks - 1}$`));
});

const rowHeights = (page: Page) =>
  rows(page).evaluateAll((found) =>
    found.slice(1).map((row) => Math.round(row.getBoundingClientRect().height)),
  );
