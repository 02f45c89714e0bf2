import type { Page } from "@playwright/test";

import { act, environment } from "./environment";
import { expect, test } from "./harness";
import { LONG_TASK_MS, tasksDuring } from "./long-tasks";

// Playwright's own record of a page takes long tasks in it.
test.use({ trace: "off" });

/** Opens ten thousand ranks, lets all of them report, sorts, colours and filters them. */
async function useRanks(page: Page): Promise<void> {
  const rows = page.getByRole("table", { name: "Ranks" }).getByRole("row");
  await page.goto(`/jobs/${environment.bigJob}/ranks`);
  const first = rows.nth(1).getByRole("cell");
  await expect(first.first()).toHaveText(String(environment.bigSlowRank), { timeout: 60_000 });
  const step = first.nth(3);
  const before = await step.innerText();
  await act("big-report");
  await expect(step).not.toHaveText(before, { useInnerText: true, timeout: 60_000 });
  await page.getByRole("table").getByRole("button", { name: "Host" }).click();
  await expect(page).toHaveURL(/sort=host/);
  await page.getByRole("combobox", { name: "Heat map shows" }).selectOption("rss_bytes");
  await expect(page.getByText(/^Memory of/)).toBeVisible();
  await page.getByRole("searchbox", { name: /^Filter by rank/ }).fill("node-77");
  await expect(page.getByRole("heading", { name: /^88 of/ })).toBeVisible();
}

/**
 * PerformanceObserver sees tasks by the clock, in which whatever else the machine does counts too; so what counts is a
 * task's own time on the processor, in the best of three rounds. Both are printed.
 */
test("never holds the page up for 100 ms with ten thousand ranks", async ({
  page,
  browser,
}, info) => {
  test.setTimeout(480_000);
  await page.addInitScript(() => {
    const tasks: number[] = [];
    Object.assign(window, { longTasks: tasks });
    new PerformanceObserver((list) => {
      for (const { duration } of list.getEntries()) tasks.push(duration);
    }).observe({ type: "longtask", buffered: true });
  });
  const longest: number[] = [];
  for (let round = 0; round < 3; round += 1) {
    const path = info.outputPath(`round-${round}.json`);
    const tasks = await tasksDuring(browser, page, path, () => useRanks(page));
    const byClock = await page.evaluate(
      () => (window as unknown as { longTasks: number[] }).longTasks,
    );
    expect(tasks.length).toBeGreaterThan(20);
    const cpuMs = tasks[0] ?? NaN;
    longest.push(cpuMs);
    console.log(
      `longest task: ${cpuMs.toFixed(0)} ms of processor; by the clock ${Math.max(0, ...byClock)} ms`,
    );
    if (cpuMs < LONG_TASK_MS) break;
  }
  expect(Math.min(...longest)).toBeLessThan(LONG_TASK_MS);
});
