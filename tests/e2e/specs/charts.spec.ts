import { readFile } from "node:fs/promises";

import type { Locator, Page } from "@playwright/test";

import { expect, test } from "./harness";

const NAMES = ["mix", "throughput", "wait", "loss", "epochs"] as const;

const card = (page: Page, name: string) => page.locator(`[data-figure=${name}]`);

const drawn = (page: Page, name: string) => card(page, name).locator(".main-svg").first();

/** From where to where a chart's x axis is drawn: numbers, or times as Plotly has them. */
const rangeOf = (page: Page, name: string) =>
  card(page, name)
    .locator(".js-plotly-plot")
    .evaluate((plot) =>
      (
        plot as unknown as { layout: { xaxis: { range: (number | string)[] } } }
      ).layout.xaxis.range.map((end) => (typeof end === "number" ? Math.round(end) : end)),
    );

async function boxOf(plot: Locator) {
  await plot.scrollIntoViewIfNeeded();
  const box = await plot.boundingBox();
  if (box === null) throw new Error("the chart has no size");
  return box;
}

/** Drags over the middle of a chart, which is a zoom into that part of the x axis. */
async function dragOver(page: Page, name: string) {
  const box = await boxOf(card(page, name).locator(".nsewdrag").first());
  const y = box.y + box.height / 2;
  await page.mouse.move(box.x + box.width * 0.3, y);
  await page.mouse.down();
  await page.mouse.move(box.x + box.width * 0.6, y, { steps: 5 });
  await page.mouse.up();
}

const axis = (page: Page, label: string) =>
  page.getByRole("group", { name: "Charts" }).getByText(label, { exact: true }).click();

async function open(page: Page, jobId: string, search = "") {
  await page.goto(`/jobs/${jobId}${search}`);
  for (const name of NAMES) await expect(drawn(page, name)).toBeAttached();
}

test("zooms all charts at once, fetches the detail, keeps it in the address and shows all again", async ({
  page,
  jobId,
}) => {
  await open(page, jobId);
  const detail = page.waitForRequest((request) => /figures\/loss\?.*from=\d/.test(request.url()));
  await dragOver(page, "throughput");
  await expect(page).toHaveURL(/from=\d+&to=\d+/);
  await detail;
  const { searchParams } = new URL(page.url());
  const chosen = ["from", "to"].map((end) => Number(searchParams.get(end)));
  for (const name of NAMES) await expect.poll(() => rangeOf(page, name)).toEqual(chosen);

  await page.reload();
  for (const name of NAMES) await expect.poll(() => rangeOf(page, name)).toEqual(chosen);
  await page.getByRole("button", { name: "Show all" }).click();
  await expect(page).not.toHaveURL(/from=/);
  await expect.poll(async () => (await rangeOf(page, "loss"))[0]).not.toEqual(chosen[0]);

  await dragOver(page, "mix");
  await expect(page).toHaveURL(/from=\d+/);
  const box = await boxOf(card(page, "mix").locator(".nsewdrag").first());
  await page.mouse.dblclick(box.x + box.width / 2, box.y + box.height / 2);
  await expect(page).not.toHaveURL(/from=/);
});

test("shows the same x in every chart in view, under one x axis", async ({ page, jobId }) => {
  await page.setViewportSize({ width: 1280, height: 1400 });
  await open(page, jobId);
  await expect.poll(() => rangeOf(page, "loss")).toEqual(await rangeOf(page, "mix"));
  const box = await boxOf(card(page, "throughput").locator(".nsewdrag").first());
  await page.mouse.move(box.x + box.width * 0.4, box.y + box.height / 2);
  await page.mouse.move(box.x + box.width * 0.5, box.y + box.height / 2, { steps: 3 });
  for (const name of ["mix", "throughput", "wait"]) {
    await expect(card(page, name).locator(".hoverlayer")).toContainText(/step [\d\s]+/);
  }
});

test("runs over steps, tokens and time, each with its step and in the reader's zone", async ({
  page,
  jobId,
}) => {
  await open(page, jobId);
  for (const [label, x, title] of [
    ["Tokens", "tokens", "tokens"],
    ["Time", "time", "time (Europe/Berlin)"],
  ] as const) {
    await axis(page, label);
    await expect(page).toHaveURL(new RegExp(`x=${x}`));
    await expect(card(page, "loss").locator(".xtitle")).toHaveText(title);
    const box = await boxOf(card(page, "loss").locator(".nsewdrag").first());
    await page.mouse.move(box.x + box.width / 2, box.y + box.height / 2);
    const said = card(page, "loss").locator(".hoverlayer");
    await expect(said).toContainText(x === "time" ? /step [\d\s]+ · [\d:]+ UTC/ : /step [\d\s]+/);
  }
  await dragOver(page, "loss");
  await expect(page).toHaveURL(/from=1\d{9}/);
  await axis(page, "Step");
  await expect(page).not.toHaveURL(/from=|x=/);
});

test("over time draws the epochs to the planned end, and says which pace that assumes", async ({
  page,
  jobId,
}) => {
  await open(page, jobId, "?x=time");
  await expect(card(page, "epochs")).toContainText(/assumes the present pace of [\d.]+ steps\/s/);
  await page.getByRole("button", { name: "To the planned end" }).click();
  await expect(page).toHaveURL(/from=1\d{9}/);
  await expect(page.getByRole("button", { name: "To the planned end" })).toHaveCount(0);
  const dashed = card(page, "epochs")
    .locator(".js-plotly-plot")
    .evaluate(
      (plot) =>
        (plot as unknown as { data: { meta?: string; x: string[] }[] }).data.filter(
          ({ meta, x }) => meta === "forecast" && new Date(x[1] ?? 0) > new Date(),
        ).length,
    );
  expect(await dashed).toBeGreaterThan(0);
});

test("smooths, says how, and keeps the raw line", async ({ page, jobId }) => {
  await open(page, jobId);
  await page.getByLabel("Smoothing").selectOption("20");
  await expect(page).toHaveURL(/smooth=20/);
  await expect(card(page, "loss")).toContainText(/window of 20% of what is shown/);
  const faint = () =>
    card(page, "loss")
      .locator(".js-plotly-plot")
      .evaluate(
        (plot) =>
          (plot as unknown as { data: { opacity?: number }[] }).data.filter(
            ({ opacity }) => opacity !== undefined && opacity < 1,
          ).length,
      );
  await expect.poll(faint).toBeGreaterThan(0);
});

test("leads from a point to the trace of its step, by mouse and from the table", async ({
  page,
  jobId,
}) => {
  await open(page, jobId);
  const box = await boxOf(card(page, "wait").locator(".nsewdrag").first());
  await page.mouse.move(box.x + box.width * 0.5, box.y + box.height / 2);
  await expect(card(page, "wait").locator(".hoverlayer")).toContainText("median");
  await page.mouse.click(box.x + box.width * 0.5, box.y + box.height / 2);
  const link = card(page, "wait").getByRole("link", { name: /^Trace step/ });
  await expect(link).toHaveAttribute("href", new RegExp(`/jobs/${jobId}/trace\\?step=\\d+$`));

  await card(page, "wait").getByText("Table", { exact: true }).click();
  const cell = card(page, "wait")
    .getByRole("link", { name: /^Trace step/ })
    .first();
  await cell.focus();
  await expect(cell).toBeFocused();
  await expect(cell).toHaveAttribute("href", /trace\?step=\d+$/);
});

test("opens one chart as a page of its own, as it is shown", async ({ page, jobId, context }) => {
  await open(page, jobId, "?smooth=5");
  const [own] = await Promise.all([
    context.waitForEvent("page"),
    card(page, "loss")
      .getByRole("link", { name: /standalone HTML/ })
      .click(),
  ]);
  await expect(own.locator("#figure-loss .main-svg").first()).toBeVisible();
  await expect(own.locator("[id^=figure-]")).toHaveCount(1);
  await expect(own.getByText(/window of 5% of what is shown/)).toBeVisible();
  await own.close();
});

test("writes large numbers as the reader wants, and remembers it", async ({ page, jobId }) => {
  await page.goto(`/jobs/${jobId}`);
  const tokens = page.getByText(/tokens$/).first();
  await expect(tokens).toHaveText(/^[\d.]+( [kMG])? tokens$/);
  await page.getByRole("button", { name: /large numbers with a metric prefix/ }).click();
  await expect(tokens).toHaveText(/^\d{1,3}(\s\d{3})* tokens$/);
  await page.reload();
  await expect(tokens).toHaveText(/^\d{1,3}(\s\d{3})* tokens$/);
});

test("exports what is kept of the job", async ({ page, jobId }) => {
  await page.goto(`/jobs/${jobId}`);
  await page.getByText("Export", { exact: true }).click();
  const [file] = await Promise.all([
    page.waitForEvent("download"),
    page.getByRole("link", { name: "Attempts as CSV" }).click(),
  ]);
  expect(await readFile(await file.path(), "utf8")).toContain("world_size");
  await expect(page.getByRole("link", { name: /^Report,/ })).toHaveAttribute(
    "href",
    /report\.html/,
  );
});
