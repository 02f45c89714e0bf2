import type { Page } from "@playwright/test";

import { expectAccessible } from "./axe";
import { environment } from "./environment";
import { expect, test } from "./harness";

const overflow = (page: Page) =>
  page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);

/** Pages that belong to no job, each with a dialog to open there, if it has one. */
const OUTSIDE_JOBS = [
  ["/alerts", null],
  ["/alerts/rules", "New rule…"],
  ["/settings/default/members", null],
  ["/settings/default/keys", "New key…"],
  ["/settings/default/webhooks", "New webhook…"],
  ["/settings/default/approval", null],
  ["/settings/default/retention", null],
  ["/settings/default/archiving", "Archive…"],
  ["/account", "Sign out everywhere else…"],
  ["/server/people", "New person…"],
  ["/server/projects", null],
  ["/system", null],
] as const;

for (const scheme of ["light", "dark"] as const) {
  test(`has no violation of WCAG 2.2 AA outside jobs and in dialogs, ${scheme}`, async ({
    page,
  }) => {
    test.setTimeout(240_000);
    await page.emulateMedia({ colorScheme: scheme, reducedMotion: "reduce" });
    for (const [path, dialog] of OUTSIDE_JOBS) {
      await page.goto(path);
      await expect(page.getByRole("heading", { level: 1 })).toBeVisible();
      await expect(page.locator("main [role=status][aria-label^=Loading]")).toHaveCount(0);
      await expectAccessible(page);
      if (dialog === null) continue;
      await page.getByRole("button", { name: dialog }).click();
      await expect(page.getByRole("dialog")).toBeVisible();
      await expectAccessible(page);
    }
  });

  test(`has no violation of WCAG 2.2 AA on any page, ${scheme}`, async ({
    page,
    jobId,
    context,
    watch,
  }) => {
    test.setTimeout(240_000);
    await page.emulateMedia({ colorScheme: scheme, reducedMotion: "reduce" });
    for (const path of [
      "",
      "/ranks",
      "/ranks/0",
      "/mix",
      "/history",
      "/history?view=audit",
      "/trace?step=3",
    ]) {
      await page.goto(`/jobs/${jobId}${path}`);
      await expect(page.getByRole("heading", { level: 1 })).toBeVisible();
      await expect(page.locator("main [role=status][aria-label^=Loading]")).toHaveCount(0);
      await expectAccessible(page);
    }
    await page.goto("/jobs");
    await expect(page.getByRole("link", { name: environment.job })).toBeVisible();
    await expectAccessible(page);
    await page.goto(`/compare?jobs=${jobId},${environment.bigJob}`);
    await expect(page.getByRole("heading", { name: "Configuration" })).toBeVisible();
    await expectAccessible(page);
    watch.allow(/status of 401.*\/api\/v1\/session\)/);
    await context.clearCookies();
    await page.goto("/login");
    await expect(page.getByRole("button", { name: "Log in" })).toBeVisible();
    await expectAccessible(page);
  });
}

test("fits a phone and a 200 % zoom without scrolling sideways", async ({ page, jobId }) => {
  test.setTimeout(180_000);
  for (const width of [390, 640]) {
    await page.setViewportSize({ width, height: 844 });
    for (const path of [
      "/jobs",
      `/jobs/${jobId}`,
      `/jobs/${jobId}/ranks`,
      `/jobs/${jobId}/ranks/0`,
      `/jobs/${jobId}/mix`,
      `/jobs/${jobId}/history`,
      `/jobs/${jobId}/history?view=audit`,
      ...OUTSIDE_JOBS.map(([path]) => path),
      `/jobs/${jobId}/trace?step=3`,
      `/compare?jobs=${jobId},${environment.bigJob}`,
    ]) {
      await page.goto(path);
      await expect(page.getByRole("heading", { level: 1 })).toBeVisible();
      await expect(page.locator("main [role=status][aria-label^=Loading]")).toHaveCount(0);
      expect(await overflow(page), `${path} at ${width} px`).toBe(0);
    }
  }
  await page.goto(`/jobs/${jobId}/mix`);
  await expectAccessible(page);
});
