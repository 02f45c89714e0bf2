import { environment } from "./environment";
import { expect, logIn, test } from "./harness";
import { mainThreadTasks } from "./main-thread";
import { seedJobs, type SeededJob } from "./seeded-jobs";

const NUM_JOBS = 120;
/** A name of a job is taken for ever: a run that is repeated needs others. */
const PREFIX = `sweep-${Date.now().toString(36)}`;
let seeded: SeededJob[];

test.beforeAll(async ({ browser }) => {
  test.setTimeout(180_000);
  const context = await browser.newContext({ baseURL: environment.url });
  await logIn(context);
  seeded = await seedJobs(context, PREFIX, NUM_JOBS);
  await context.close();
});

/** They are out of the other specs' way afterwards. */
test.afterAll(async ({ browser }) => {
  test.setTimeout(180_000);
  const context = await browser.newContext({ baseURL: environment.url });
  await logIn(context);
  await Promise.all(seeded.map((job) => job.archive(context)));
  await context.close();
});

test("narrows by tag, owner, day and archive, all in the address", async ({ page }) => {
  await page.goto(`/jobs?q=${PREFIX}-007`);
  const row = page.getByRole("row", { name: `${PREFIX}-007` });
  await row.getByRole("button", { name: `tags: ${PREFIX}-007` }).click();
  await row.getByRole("textbox", { name: `Tags of ${PREFIX}-007` }).fill("team=e2e, <b>odd</b>=1");
  await page.keyboard.press("Enter");
  await expect(row.getByRole("link", { name: "<b>odd</b>=1" })).toBeVisible();
  await row.getByRole("link", { name: "team=e2e" }).click();
  await expect(page).toHaveURL(/tag=/);
  await expect(page.getByRole("row")).toHaveCount(2);
  await page.reload();
  await expect(page.getByRole("searchbox", { name: /^Tags/ })).toHaveValue("team=e2e");

  await page.getByLabel("Created to").fill("2020-01-01");
  await expect(page.getByRole("heading", { name: "No job matches" })).toBeVisible();
  await page.getByRole("link", { name: "Clear the filter" }).click();
  await expect(page).toHaveURL(/\/jobs(\?project=default)?$/);

  await page.goto(`/jobs?q=${PREFIX}-008`);
  await page.getByRole("button", { name: `Archive ${PREFIX}-008` }).click();
  await expect(page.getByRole("heading", { name: "No job matches" })).toBeVisible();
  await page.getByRole("combobox", { name: "Show" }).selectOption("archived");
  await page.getByRole("button", { name: `Restore ${PREFIX}-008` }).click();
  await expect(page.getByRole("link", { name: `${PREFIX}-008`, exact: true })).toBeHidden();
  await page.getByRole("combobox", { name: "Show" }).selectOption("current");
  await expect(page.getByRole("link", { name: `${PREFIX}-008`, exact: true })).toBeVisible();
});

test("shows a hundred jobs live without holding up the page", async ({ page, context }) => {
  test.setTimeout(120_000);
  await page.goto(`/jobs?q=${PREFIX}`);
  const counted = (num: number) =>
    expect(page.locator(`table[aria-rowcount="${num + 1}"]`)).toBeVisible();
  for (const shown of [50, 100]) {
    await counted(shown);
    await page.getByRole("button", { name: "Show more" }).click();
  }
  await counted(NUM_JOBS);
  await page.evaluate(() => window.scrollTo(0, 0));
  // Looked for by CSS: roles of a hundred rows are computed in the page, and would be measured with it.
  const tasks = await mainThreadTasks(page);
  // Every job moves, as it does live: each is an event of its own.
  await Promise.all(seeded.map((job) => job.tag(context, { moved: "yes" })));
  await expect(page.locator("tr[aria-rowindex='2'] a[title='Jobs with moved=yes']")).toBeVisible();
  await page.locator("input[type=checkbox]").first().check();
  await expect(page.getByText("1 job chosen")).toBeVisible();
  await page.mouse.wheel(0, 20_000);
  const last = page.locator(`tr[aria-rowindex='${NUM_JOBS + 1}']`);
  await expect(last.locator("a[title='Jobs with moved=yes']")).toBeVisible();
  expect((await tasks()).filter((ms) => ms >= 100)).toEqual([]);
});

test("chooses jobs by keyboard and compares them", async ({ page }) => {
  await page.goto("/jobs?q=e2e-two");
  await page.getByRole("checkbox", { name: `Compare ${environment.job}` }).focus();
  await page.keyboard.press("Space");
  await expect(page.getByText("choose another one")).toBeVisible();
  await page.getByRole("searchbox", { name: "Search jobs by name" }).fill("many");
  await page.getByRole("checkbox", { name: "Compare many-ranks" }).focus();
  await page.keyboard.press("Space");
  await page.getByRole("link", { name: "Compare 2 jobs" }).focus();
  await page.keyboard.press("Enter");
  await expect(page).toHaveURL(/\/compare\?jobs=/);
  await expect(page.getByRole("heading", { level: 1, name: "Compare" })).toBeVisible();
  await expect(page.getByRole("link", { name: environment.job })).toBeVisible();
});
