import { statSync } from "node:fs";
import { join } from "node:path";

import type { Page } from "@playwright/test";

import { act } from "../specs/environment";
import { expect as expectSoon, test } from "../specs/harness";

import { SHOTS, type Shot } from "./pages";

const expect = expectSoon.configure({ timeout: 90_000 });
const SIZE = { width: 1280, height: 860 };
/** A picture in the repository is small, and so are all of them together. */
const MOST_BYTES = 150_000;

test.use({ viewport: SIZE, deviceScaleFactor: 1 });

/** Everything that the page fetches is there, and every chart is drawn. */
async function settle(page: Page, { charts }: Shot): Promise<void> {
  await expect(page.getByRole("heading", { level: 1 })).toBeVisible();
  await expect(page.getByRole("heading", { name: /not found/i })).toHaveCount(0);
  await expect(page.locator("[role=status][aria-label^=Loading]")).toHaveCount(0);
  await expect(page.locator("[role=status][aria-label^=Drawing]")).toHaveCount(0);
  if (charts) await expect(page.locator("[data-figure]").first()).toBeVisible();
  for (const chart of await page.locator("[data-figure]").all()) {
    await expect(chart.locator(".main-svg").first()).toBeVisible();
  }
  await page.evaluate(() => document.fonts.ready);
}

for (const scheme of ["light", "dark"] as const) {
  for (const shot of SHOTS) {
    test(`${shot.name}, ${scheme}`, async ({ page, jobId, context, watch }) => {
      watch.allow(/status of 401/);
      await page.emulateMedia({ colorScheme: scheme, reducedMotion: "reduce" });
      if (shot.loggedOut) await context.clearCookies();
      // Ten thousand ranks that nobody simulates fall silent between two pictures.
      if (["jobs", "ranks"].includes(shot.name)) await act("big-report");
      await page.goto(shot.path(jobId));
      await settle(page, shot);
      const path = join(process.env.E2E_IMAGES ?? ".", `${shot.name}-${scheme}.png`);
      await page.mouse.move(SIZE.width - 1, SIZE.height - 1);
      await page.screenshot({ path, animations: "disabled", caret: "hide", scale: "css" });
      expect(statSync(path).size, path).toBeLessThan(MOST_BYTES);
    });
  }
}
