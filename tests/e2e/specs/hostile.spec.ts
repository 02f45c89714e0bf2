import { readFile } from "node:fs/promises";

import { environment } from "./environment";
import { expect, test } from "./harness";

const NAME = '<img src=x onerror="window.pwned=1">{{7*7}}';
const LINK = '<a href="https://evil.example/">free tokens</a>';

// The watch of every test fails on a script that ran, a request that left, or a policy violation.
for (const page_ of ["", "/ranks", "/ranks/0", "/mix", "/history", "/trace?step=3"]) {
  test(`shows hostile names as text on ${page_ || "the overview"}`, async ({ page }) => {
    await page.goto(`/jobs/${environment.hostileJob}${page_}`);
    await expect(page.getByRole("heading", { level: 1 })).toHaveText(NAME);
    await expect(page.getByText(LINK).first()).toBeAttached();
    await expect(page.locator("a[href*='evil'], img[src='x'], svg[onload]")).toHaveCount(0);
  });
}

test("shows hostile source names as text in the charts", async ({ page }) => {
  await page.goto(`/jobs/${environment.hostileJob}`);
  const loss = page.locator("[data-figure=loss]");
  await expect(loss.locator(".main-svg").first()).toBeVisible();
  await expect(loss.locator(".legendtext").first()).toHaveText(LINK);
  await expect(page.locator(".main-svg a, .main-svg image")).toHaveCount(0);
  await loss.scrollIntoViewIfNeeded();
  const plot = await loss.locator(".nsewdrag").first().boundingBox();
  if (plot === null) throw new Error("the loss chart has no size");
  await page.mouse.move(plot.x + plot.width / 2, plot.y + plot.height / 2);
  await expect(loss.locator(".hoverlayer")).toContainText("free tokens");
  await expect(page.locator(".hoverlayer a")).toHaveCount(0);
});

test("writes no formula into a CSV", async ({ page }) => {
  await page.goto(`/jobs/${environment.hostileJob}`);
  const [csv] = await Promise.all([
    page.waitForEvent("download"),
    page
      .locator("[data-figure=loss]")
      .getByRole("button", { name: /as CSV$/ })
      .click(),
  ]);
  const header = (await readFile(await csv.path(), "utf8")).split("\r\n")[0] ?? "";
  expect(header).toContain("'=HYPERLINK");
  expect(csv.suggestedFilename()).toMatch(/^[\w.-]+$/);
});
