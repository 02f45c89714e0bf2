import type { Page } from "@playwright/test";

import { expect, shownStep, test } from "./harness";

/** What the browser does when its tab is hidden or shown; headless, every page counts as shown. */
const turn = (page: Page, state: "hidden" | "visible") =>
  page.evaluate((to) => {
    Object.defineProperty(document, "visibilityState", { configurable: true, get: () => to });
    Object.defineProperty(document, "hidden", { configurable: true, get: () => to === "hidden" });
    document.dispatchEvent(new Event("visibilitychange"));
  }, state);

test("asks for nothing while its tab is hidden, and catches up when it is shown", async ({
  page,
  jobId,
}) => {
  const jobStep = async () => {
    const answer = await page.request.get(`/api/v1/jobs/${jobId}`);
    return ((await answer.json()) as { step: number }).step;
  };
  await page.goto(`/jobs/${jobId}`);
  await expect(page.getByText("Live", { exact: true })).toBeVisible();
  await turn(page, "hidden");
  // What is under way may still end; the stream, which would keep the network from ever being idle, is closed.
  await page.waitForLoadState("networkidle");
  const asked: string[] = [];
  page.on("request", (request) => asked.push(request.url()));
  const before = await shownStep(page);
  await expect.poll(jobStep, { timeout: 60_000 }).toBeGreaterThan(before + 60);
  expect(asked).toEqual([]);
  expect(await shownStep(page)).toBe(before);
  const now = await jobStep();

  await turn(page, "visible");
  await expect(page.getByText("Live", { exact: true })).toBeVisible();
  await expect.poll(() => shownStep(page)).toBeGreaterThanOrEqual(now);
});
