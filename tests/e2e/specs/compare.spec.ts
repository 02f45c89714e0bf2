import { readFile } from "node:fs/promises";

import { environment } from "./environment";
import { expect, test } from "./harness";

const NAME = '<img src=x onerror="window.pwned=1">{{7*7}}';

test("draws several jobs on one axis, hostile names as text, and tells what differs", async ({
  page,
  jobId,
}) => {
  test.setTimeout(120_000);
  await page.goto(`/compare?jobs=${jobId},${environment.hostileJob},${environment.bigJob}`);
  await expect(page.getByRole("link", { name: NAME })).toBeVisible();
  await expect(page.locator("[data-figure]")).toHaveCount(5);
  const throughput = page.locator("[data-figure=compare-throughput]");
  await expect(throughput.locator(".main-svg").first()).toBeVisible();
  await expect(throughput.locator(".legendtext").nth(1)).toHaveText(NAME);
  await expect(page.locator(".main-svg a, .main-svg image")).toHaveCount(0);
  const mix = page.getByRole("region", { name: "Mix in force, as a table" });
  await expect(mix.getByRole("row", { name: /^web/ })).toContainText("50.00 %");
  await expect(mix.getByRole("row", { name: /^web/ })).toContainText("no such source");

  await page.getByText("Time since start", { exact: true }).click();
  await expect(page).toHaveURL(/x=elapsed/);
  await expect(throughput).toContainText("over the time since it first started");
  const [csv] = await Promise.all([
    page.waitForEvent("download"),
    throughput.getByRole("button", { name: /as CSV$/ }).click(),
  ]);
  expect(csv.suggestedFilename()).toMatch(/^[\w.-]+compare-throughput.csv$/);
  const header = (await readFile(await csv.path(), "utf8")).split("\r\n")[0] ?? "";
  expect(header).toMatch(/^time since start \(min\),/);

  await page.getByText("Tokens", { exact: true }).click();
  await expect(page).toHaveURL(/x=tokens/);
  await expect(throughput).toContainText("over the tokens it has trained on");

  await page.getByRole("combobox", { name: "Figures", exact: true }).selectOption("Loss");
  await expect(page.locator("[data-figure]")).toHaveCount(2);
});

test("zooms all charts at once, in the unit of each axis, and keeps it in the address", async ({
  page,
  jobId,
}) => {
  test.setTimeout(120_000);
  const rangeOf = (name: string) =>
    page
      .locator(`[data-figure=${name}] .js-plotly-plot`)
      .first()
      .evaluate((plot) =>
        (plot as unknown as { layout: { xaxis: { range: number[] } } }).layout.xaxis.range.map(
          (end) => Number(end.toPrecision(6)),
        ),
      );
  for (const [x, unit] of [
    ["tokens", 1],
    ["elapsed", 60],
  ] as const) {
    await page.goto(`/compare?jobs=${jobId},${environment.bigJob}&x=${x}`);
    const plot = page.locator("[data-figure=compare-loss] .nsewdrag").first();
    await plot.scrollIntoViewIfNeeded();
    const box = await plot.boundingBox();
    if (box === null) throw new Error("the chart has no size");
    await page.mouse.move(box.x + box.width * 0.3, box.y + box.height / 2);
    await page.mouse.down();
    await page.mouse.move(box.x + box.width * 0.6, box.y + box.height / 2, { steps: 5 });
    await page.mouse.up();
    await expect(page).toHaveURL(/from=[\d.]+&to=[\d.]+/);
    const { searchParams } = new URL(page.url());
    const chosen = ["from", "to"].map((end) =>
      Number((Number(searchParams.get(end)) / unit).toPrecision(6)),
    );
    for (const name of ["compare-throughput", "compare-wait", "compare-loss"])
      await expect.poll(() => rangeOf(name)).toEqual(chosen);
    await page.getByRole("button", { name: "Show all" }).click();
    await expect(page).not.toHaveURL(/from=/);
  }
});

test("says of a job that the reader may not see that it is left out", async ({
  page,
  jobId,
  watch,
}) => {
  watch.allow(/status of 404.*\/api\/v1\/jobs\//);
  const other = "00000000-0000-4000-8000-000000000000";
  await page.goto(`/compare?jobs=${other},${jobId},nonsense`);
  await expect(page.getByText("there is no such job, or you are no member")).toBeVisible();
  await expect(page.getByText("1 part of the address left out")).toBeVisible();
  await expect(page.locator("[data-figure=compare-loss] .main-svg").first()).toBeVisible();
  await page.getByRole("button", { name: `Take ${other} out of the comparison` }).click();
  await expect(page.getByText("there is no such job")).toBeHidden();
});
