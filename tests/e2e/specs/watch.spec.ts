import { readFile } from "node:fs/promises";

import { environment } from "./environment";
import { expect, fact, shownStep, test } from "./harness";

test("shows the running job in the list and keeps it up to date without a reload", async ({
  page,
}) => {
  await page.goto("/jobs");
  const row = page.getByRole("row", { name: environment.job });
  await expect(row.getByText("running", { exact: true })).toBeVisible();
  await expect(row.getByText(`${environment.ranks} / ${environment.ranks}`)).toBeVisible();
  await expect(page.getByText("Live", { exact: true })).toBeVisible();
  const cell = row.getByRole("cell").nth(2);
  const first = await cell.innerText();
  await expect(cell).not.toHaveText(first, { useInnerText: true });
});

test("finds jobs by name and state, and keeps the filter in the address", async ({ page }) => {
  await page.goto("/jobs");
  await page.getByRole("searchbox", { name: "Search jobs by name" }).fill("many");
  await expect(page).toHaveURL(/q=many/);
  await expect(page.getByRole("link", { name: "many-ranks" })).toBeVisible();
  await expect(page.getByRole("link", { name: environment.job })).toBeHidden();
  await page.reload();
  await expect(page.getByRole("searchbox", { name: "Search jobs by name" })).toHaveValue("many");
  await page.getByRole("combobox", { name: "State" }).selectOption("finished");
  await expect(page.getByRole("heading", { name: "No job matches" })).toBeVisible();
});

test("answers in the job's header: running, fed, which mix, since when", async ({
  page,
  jobId,
}) => {
  await page.goto(`/jobs/${jobId}`);
  await expect(page.getByRole("heading", { level: 1, name: environment.job })).toBeVisible();
  await expect(fact(page, "Waiting for data")).toContainText(/fed|waits at times|starved/);
  await expect(fact(page, "Ranks live")).toContainText(
    `${environment.ranks} of ${environment.ranks}`,
  );
  await expect(fact(page, "Mix in force")).toContainText(/v\d+ since step/);
  const step = await shownStep(page);
  await expect.poll(() => shownStep(page)).toBeGreaterThan(step);
});

test("draws every chart in both themes, with no way to a cloud, and keeps a zoom through new data", async ({
  page,
  jobId,
}) => {
  await page.goto(`/jobs/${jobId}`);
  const charts = page.locator("[data-figure]");
  await expect(charts).toHaveCount(5);
  for (const name of ["mix", "throughput", "wait", "loss", "epochs"]) {
    await expect(page.locator(`[data-figure=${name}] .main-svg`).first()).toBeVisible();
  }
  await expect(
    page.locator(".modebar, [data-title*='cloud' i], [data-title*='Share' i]"),
  ).toHaveCount(0);
  await expect(page.locator(".main-svg a")).toHaveCount(0);

  await page.locator("[data-figure=throughput]").scrollIntoViewIfNeeded();
  const plot = page.locator("[data-figure=throughput] .nsewdrag").first();
  const box = await plot.boundingBox();
  if (box === null) throw new Error("the throughput chart has no size");
  await page.mouse.move(box.x + box.width * 0.3, box.y + box.height / 2);
  await page.mouse.down();
  await page.mouse.move(box.x + box.width * 0.6, box.y + box.height / 2, { steps: 5 });
  await page.mouse.up();
  const range = () =>
    page.locator("[data-figure=throughput] .js-plotly-plot").evaluate((plot) => {
      const { xaxis } = (plot as unknown as { layout: { xaxis: { range: number[] } } }).layout;
      return xaxis.range.map(Math.round);
    });
  await expect(page).toHaveURL(/from=\d+&to=\d+/);
  const { searchParams } = new URL(page.url());
  const zoomed = ["from", "to"].map((end) => Number(searchParams.get(end)));
  await expect.poll(range).toEqual(zoomed);
  expect(zoomed[0]).toBeGreaterThan(0);
  await page.waitForResponse((answer) => answer.url().includes("/figures/throughput"));
  await page.waitForResponse((answer) => answer.url().includes("/figures/throughput"));
  expect(await range()).toEqual(zoomed);

  await page.getByRole("button", { name: /^Theme/ }).click();
  await page.getByRole("button", { name: /^Theme: light/ }).click();
  await expect(page.locator("html")).toHaveAttribute("data-mantine-color-scheme", "dark");
  await page.waitForResponse((answer) => answer.url().includes("theme=dark"));
  await page.reload();
  await expect(page.locator("html")).toHaveAttribute("data-mantine-color-scheme", "dark");
});

test("gives the sources the same colours in the charts as in the bar", async ({ page, jobId }) => {
  await page.goto(`/jobs/${jobId}`);
  const answer = await page.request.get(`/api/v1/jobs/${jobId}/figures/loss`);
  const { figure } = (await answer.json()) as { figure: { data: { line: { color: string } }[] } };
  const bar = page.getByRole("img", { name: /^Target:/ }).locator("span");
  for (const [index, { line }] of figure.data.entries()) {
    const channels = (line.color.slice(1).match(/../g) ?? []).map((hex) => parseInt(hex, 16));
    await expect(bar.nth(index)).toHaveCSS("background-color", `rgb(${channels.join(", ")})`);
  }
});

test("gives every chart as a table and as files", async ({ page, jobId }) => {
  await page.goto(`/jobs/${jobId}?x=time`);
  const card = page.locator("[data-figure=loss]");
  await expect(card.locator(".main-svg").first()).toBeVisible();
  const [csv] = await Promise.all([
    page.waitForEvent("download"),
    card.getByRole("button", { name: /as CSV$/ }).click(),
  ]);
  expect(csv.suggestedFilename()).toBe(`${environment.job}-loss.csv`);
  const text = await readFile(await csv.path(), "utf8");
  expect(text.split("\r\n")[0]).toMatch(/^time \(UTC\),step,code/);

  const [png] = await Promise.all([
    page.waitForEvent("download"),
    card.getByRole("button", { name: /as PNG$/ }).click(),
  ]);
  const picture = await readFile(await png.path());
  expect(picture.subarray(1, 4).toString()).toBe("PNG");
  expect(picture.length).toBeGreaterThan(20_000);

  await card.getByText("Table", { exact: true }).click();
  const rows = card.getByRole("region", { name: /as a table$/ }).getByRole("row");
  expect(await rows.count()).toBeGreaterThan(1);
});
