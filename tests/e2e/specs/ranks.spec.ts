import { environment } from "./environment";
import { expect, test } from "./harness";

test("shows the ranks of the training job with the file and row under each cursor", async ({
  page,
  jobId,
}) => {
  await page.goto(`/jobs/${jobId}/ranks`);
  const table = page.getByRole("table", { name: "Ranks" });
  await expect(table.getByRole("row")).toHaveCount(environment.ranks + 1);
  for (const source of ["code", "prose", "legal"]) {
    await expect(table.getByRole("columnheader", { name: source })).toHaveCount(1);
  }
  await expect(table.getByText(/\.arrow:\d+ · epoch \d+/).first()).toBeVisible();
});

test("keeps thousands of ranks quick: the slowest first, only what is in sight in the page", async ({
  page,
}) => {
  await page.goto(`/jobs/${environment.bigJob}/ranks`);
  const table = page.getByRole("table", { name: "Ranks" });
  await expect(page.getByRole("heading", { name: "3 000 ranks" })).toBeVisible();
  await expect(table).toHaveAttribute("aria-rowcount", String(environment.bigRanks + 1));
  const rows = table.getByRole("row");
  expect(await rows.count()).toBeLessThan(80);
  await expect(rows.nth(1).getByRole("cell").first()).toHaveText("1234");

  await table.getByRole("button", { name: "Rank" }).click();
  await expect(rows.nth(1).getByRole("cell").first()).toHaveText("2999");
  await table.getByRole("button", { name: "Rank" }).click();
  await expect(rows.nth(1).getByRole("cell").first()).toHaveText("0");
  await expect(page).toHaveURL(/sort=rank&up=true/);

  const region = page.getByRole("region", { name: /^Ranks/ });
  await region.focus();
  await page.keyboard.press("End");
  await expect(table.getByRole("cell", { name: "2999", exact: true })).toBeVisible();

  await page.getByRole("searchbox").fill("rank 1234");
  await expect(rows).toHaveCount(2);
});
