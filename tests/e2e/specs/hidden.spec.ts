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
  let asked = 0;
  page.on("request", () => (asked += 1));
  await page.goto(`/jobs/${jobId}`);
  await expect(page.getByText("Live", { exact: true })).toBeVisible();
  await turn(page, "hidden");
  // What was asked for before may still be on its way for some seconds of the job.
  const hiddenAt = await jobStep();
  await expect.poll(jobStep, { timeout: 60_000 }).toBeGreaterThan(hiddenAt + 40);
  const before = asked;
  const quietAt = await jobStep();
  await expect.poll(jobStep, { timeout: 60_000 }).toBeGreaterThan(quietAt + 40);
  expect(asked).toBe(before);
  const now = await jobStep();
  expect(await shownStep(page)).toBeLessThan(now);

  await turn(page, "visible");
  await expect(page.getByText("Live", { exact: true })).toBeVisible();
  await expect.poll(() => shownStep(page)).toBeGreaterThanOrEqual(now);
});
