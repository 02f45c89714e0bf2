import { writeFile } from "node:fs/promises";
import { pathToFileURL } from "node:url";

import { environment } from "./environment";
import { expect, test } from "./harness";

const NAME = '<img src=x onerror="window.pwned=1">{{7*7}}';
const LINK = '<a href="https://evil.example/">free tokens</a>';

// Served, and opened from a disk: the watch fails on a request, a script that ran from data, or a policy violation.
for (const where of ["from the server", "from a disk"]) {
  test(`draws every figure of a report ${where}`, async ({ page, watch }, info) => {
    const address = `/api/v1/jobs/${environment.hostileJob}/report.html`;
    if (where === "from a disk") {
      watch.allow(/^left the origin: file:/);
      const file = info.outputPath("report.html");
      const answer = await page.request.get(address);
      await writeFile(file, await answer.body());
      await page.goto(pathToFileURL(file).href);
    } else {
      await page.goto(address);
    }
    await expect(page.getByRole("heading", { level: 1 })).toHaveText(NAME);
    await expect(page.locator("#figure-mix .scatterlayer .trace").first()).toBeVisible();
    for (const name of ["mix", "throughput", "wait", "loss", "epochs", "queue", "memory"])
      await expect(page.locator(`#figure-${name} .main-svg`).first()).toBeAttached();
    await expect(page.locator("#figure-loss .legendtext").first()).toHaveText(LINK);
    const bar = page.locator("#figure-mix .modebar-container").first();
    expect(await bar.evaluate((element) => getComputedStyle(element).position)).toBe("absolute");
    await expect(page.locator("a, img, .main-svg image")).toHaveCount(0);
  });
}
