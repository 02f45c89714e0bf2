import type { Page } from "@playwright/test";

import { expect, test } from "./harness";

const factOf = (page: Page, name: string) => page.locator("dt", { hasText: name }).locator("+ dd");

test("shows what the service does, live", async ({ page }) => {
  test.setTimeout(240_000);
  await page.goto("/system");
  await expect(page.getByRole("heading", { level: 1, name: "System" })).toBeVisible();
  await expect(factOf(page, "Database")).toContainText("SQLite");
  await expect(factOf(page, "Size")).toContainText(/\d (KiB|MiB)/);
  await expect(factOf(page, "Schema")).toContainText("what this server needs");
  await expect(factOf(page, "Sealing key")).toContainText("not configured");
  await expect(factOf(page, "Sign-in provider")).toContainText("not configured");
  // Two ranks report each two seconds, and this page holds a stream.
  await expect(factOf(page, "Reports")).toContainText(/of [2-9]\S* live ranks/);
  const own = page.getByRole("table", { name: "Processes" }).getByRole("row").nth(1);
  await expect(own).toContainText("answered this page");
  await expect(page.getByText(/Together they hold [1-9]/)).toBeVisible();
  await expect(page.getByRole("img", { name: /Reports a minute/ })).toBeVisible({
    timeout: 120_000,
  });
});
