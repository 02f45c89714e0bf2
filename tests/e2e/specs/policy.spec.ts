import { expect, test } from "./harness";

/** Stricter than the server's own: nothing inline at all, and fonts, workers and frames from nowhere. */
const STRICT = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data: blob:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'self'",
  "frame-ancestors 'none'",
].join("; ");

test("needs no inline script, style or foreign source", async ({ page, jobId }) => {
  await page.route("**/*", async (route) => {
    if (route.request().resourceType() !== "document") return route.continue();
    const answer = await route.fetch();
    await route.fulfill({
      response: answer,
      headers: { ...answer.headers(), "content-security-policy": STRICT },
    });
  });
  await page.goto(`/jobs/${jobId}`);
  const chart = page.locator("[data-figure=loss]");
  await expect(chart.locator(".main-svg").first()).toBeVisible();
  await chart.scrollIntoViewIfNeeded();
  await chart.locator(".nsewdrag").first().hover();
  await expect(chart.locator(".hoverlayer .hovertext, .hoverlayer .legend").first()).toBeVisible();
  for (const tab of ["Ranks", "Mix", "History"]) {
    await page.getByRole("navigation", { name: "Job" }).getByRole("link", { name: tab }).click();
    await expect(page.locator("main [role=status][aria-label^=Loading]")).toHaveCount(0);
  }
});
