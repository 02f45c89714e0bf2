import { environment } from "./environment";
import { expect, test } from "./harness";

// Whole flows, each of a dozen answers of the server.
test.describe.configure({ timeout: 240_000 });

test("acknowledges an alert with a comment, mutes its job and ends the mute", async ({ page }) => {
  // The ranks of this job were heard once: they are lost after a while, and the rule holds that for 30 s.
  await page.goto(`/alerts?kind=rank_lost&job=${environment.bigJob}`);
  const alert = page.getByRole("listitem", { name: "Rank lost, many-ranks" });
  await expect(alert).toBeVisible({ timeout: 150_000 });
  await expect(alert).toContainText("ranks, fires above 0 ranks");
  await expect(page.getByRole("link", { name: /^Alerts \d+ firing/ })).toBeVisible();

  await alert.getByRole("button", { name: "Acknowledge…" }).click();
  await page.getByRole("dialog").getByRole("textbox").fill("the cluster is rebooted");
  await page.getByRole("dialog").getByRole("button", { name: "Acknowledge" }).click();
  await expect(alert).toContainText("admin looks into it");
  await expect(alert).toContainText("“the cluster is rebooted”");
  await expect(alert).toHaveAttribute("data-state", "acknowledged");

  await alert.getByRole("button", { name: "Mute…" }).click();
  const dialog = page.getByRole("dialog", { name: "Mute alerts" });
  await dialog.getByLabel("For", { exact: true }).selectOption("1 hour");
  await dialog.getByLabel("Why").fill("maintenance");
  await page.keyboard.press("Enter");
  const mute = page.getByRole("table", { name: "Mutes" }).getByRole("row", { name: /many-ranks/ });
  await expect(mute).toContainText("maintenance");
  await mute.getByRole("button", { name: "End now" }).click();
  await expect(mute).toHaveCount(0);

  await page.getByRole("button", { name: /Job many-ranks/ }).click();
  await expect(page).toHaveURL(/\/alerts\?kind=rank_lost$/);
  await page.getByLabel("State").selectOption("Resolved");
  await expect(page).toHaveURL(/state=resolved/);
  await expect(alert).toHaveCount(0);
});

test("makes a rule in the units that are shown, changes it, switches it off and deletes it", async ({
  page,
  watch,
}) => {
  const name = `spec rule ${Date.now()}`;
  await page.goto("/alerts/rules");
  await page.getByRole("button", { name: "New rule…" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Name", { exact: true }).fill(name);
  await dialog.getByLabel("Only jobs named").fill("no-such-job-*");
  await dialog.getByLabel("Fires above (% of the time)").fill("5");
  await dialog.getByLabel("Resolves at (% of the time)").fill("7");
  watch.allow(/status of 422/);
  await page.keyboard.press("Enter");
  await expect(dialog.getByText("it must be at most the threshold")).toBeVisible();
  await dialog.getByLabel("Resolves at (% of the time)").fill("2,5");
  await page.keyboard.press("Enter");
  const row = page.getByRole("row", { name: new RegExp(name) });
  await expect(row).toContainText("above 5.0 % of the time");
  await expect(row).toContainText("2.5 % of the time or less");
  await expect(row).toContainText("no-such-job-*");

  await row.getByRole("button", { name: "Edit…" }).click();
  await dialog.getByLabel("Fires above (% of the time)").fill("9");
  await page.keyboard.press("Enter");
  await expect(row).toContainText("above 9.0 % of the time");
  await row.getByRole("switch").press("Space");
  await expect(row.getByRole("switch")).not.toBeChecked();
  await row.getByRole("button", { name: "Delete…" }).click();
  await dialog.getByRole("button", { name: "Delete" }).click();
  await expect(row).toHaveCount(0);
});
