import type { Locator, Page } from "@playwright/test";

import { Admin } from "./admin-api";
import { expectAccessibleInBothThemes } from "./axe";
import { environment } from "./environment";
import { expect, test } from "./harness";
import { PASSWORD } from "./people";

// Each state twice, in either theme.
test.describe.configure({ timeout: 300_000 });

const SETTINGS = "/settings/default";
const unique = (name: string) => `${name}-${Date.now().toString(36)}`;
const weight = (page: Page, source: string) =>
  page.getByRole("textbox", { name: `Weight of ${source}, percent` });

/** Opens a dialog, looks at it in both themes, and closes it again. */
async function checkDialog(page: Page, opener: Locator, what: string): Promise<void> {
  await opener.click();
  const dialog = page.getByRole("dialog");
  await expect(dialog).toBeVisible();
  await expectAccessibleInBothThemes(page, what);
  await page.keyboard.press("Escape");
  await expect(dialog).toHaveCount(0);
}

test("the dialogs of a project's settings are accessible, secrets that are shown once too", async ({
  page,
}) => {
  const admin = await Admin.of(page);
  const member = unique("axe-member");
  await admin.person(member, "default", "viewer");

  await page.goto(`${SETTINGS}/members`);
  const row = page.getByRole("row", { name: new RegExp(member) });
  await checkDialog(page, row.getByRole("button", { name: /Remove/ }), "remove a member");

  const key = unique("axe key");
  await page.goto(`${SETTINGS}/keys`);
  const newKey = page.getByRole("button", { name: "New key…" });
  await checkDialog(page, newKey, "a new key");
  await newKey.click();
  await page.getByRole("dialog").getByLabel("Name", { exact: true }).fill(key);
  await page.getByRole("dialog").getByRole("button", { name: "Make key" }).click();
  const kept = page.getByRole("button", { name: "I have kept it" });
  await expect(kept).toBeVisible();
  await expectAccessibleInBothThemes(page, "the key, shown once");
  await kept.click();
  const keyRow = page.getByRole("row", { name: new RegExp(key) });
  const revoke = keyRow.getByRole("button", { name: /Revoke/ });
  await checkDialog(page, revoke, "revoke a key");
  await revoke.click();
  await page.getByRole("dialog").getByRole("button", { name: "Revoke" }).click();
  await expect(keyRow).toHaveCount(0);

  const hook = unique("axe hook");
  await page.goto(`${SETTINGS}/webhooks`);
  const newHook = page.getByRole("button", { name: "New webhook…" });
  await checkDialog(page, newHook, "a new webhook");
  await newHook.click();
  await page.getByRole("dialog").getByLabel("Name").fill(hook);
  await page.getByRole("dialog").getByLabel("URL").fill("http://localhost:9/hook");
  await page.keyboard.press("Enter");
  await expect(kept).toBeVisible();
  await expectAccessibleInBothThemes(page, "a webhook's secret, shown once");
  await kept.click();
  const card = page.getByRole("listitem", { name: hook });
  await card.getByRole("button", { name: "Deliveries" }).click();
  await expectAccessibleInBothThemes(page, "a webhook's deliveries");
  const remove = card.getByRole("button", { name: "Delete…" });
  await checkDialog(page, remove, "delete a webhook");
  await remove.click();
  await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
  await expect(card).toHaveCount(0);

  await page.goto(`${SETTINGS}/archiving`);
  await checkDialog(page, page.getByRole("button", { name: "Archive…" }), "archive a project");
  await admin.send("PATCH", `/users/${member}`, { disabled: true });
});

test("the dialogs of people, of one's account and of alerts are accessible", async ({ page }) => {
  const admin = await Admin.of(page);
  const person = unique("axe-person");
  await admin.send("POST", "/users", { username: person, password: PASSWORD });

  await page.goto("/server/people");
  await checkDialog(page, page.getByRole("button", { name: "New person…" }), "a new person");
  const changes = page.getByRole("group", { name: `Change ${person}` });
  for (const name of ["Set password…", "Make administrator…", "Disable…"])
    await checkDialog(page, changes.getByRole("button", { name }), name);
  await page.goto("/account");
  const everywhere = page.getByRole("button", { name: "Sign out everywhere else…" });
  await checkDialog(page, everywhere, "sign out everywhere else");

  await page.goto("/alerts/rules");
  await checkDialog(page, page.getByRole("button", { name: "New rule…" }), "a new rule");
  const rule = page.getByRole("group", { name: /^Change / }).first();
  for (const name of ["Edit…", "Delete…"])
    await checkDialog(page, rule.getByRole("button", { name }), `${name} of a rule`);
  // The ranks of this job were heard once: they are lost after a while, and the rule holds that for 30 s.
  await page.goto(`/alerts?kind=rank_lost&job=${environment.bigJob}`);
  const alert = page.getByRole("listitem", { name: "Rank lost, many-ranks" });
  await expect(alert).toBeVisible({ timeout: 150_000 });
  for (const name of [/^(Acknowledge|Change comment)…$/, "Mute…"])
    await checkDialog(page, alert.getByRole("button", { name }), `${name} of an alert`);
  await admin.send("PATCH", `/users/${person}`, { disabled: true });
});

test("choosing jobs to compare, tags and what folds out are accessible", async ({
  page,
  jobId,
}) => {
  await page.goto("/jobs");
  await expect(page.getByRole("checkbox", { name: /^Compare/ }).nth(1)).toBeVisible();
  for (const name of [environment.job, "many-ranks"]) {
    await page.getByRole("checkbox", { name: `Compare ${name}`, exact: true }).focus();
    await page.keyboard.press("Space");
  }
  await expect(page.getByRole("region", { name: "Chosen jobs" })).toContainText("2 jobs chosen");
  await expectAccessibleInBothThemes(page, "jobs chosen to compare");
  await page.getByRole("button", { name: `tags: ${environment.job}` }).click();
  await expect(page.getByRole("textbox", { name: `Tags of ${environment.job}` })).toBeVisible();
  await expectAccessibleInBothThemes(page, "tags being edited");

  await page.goto(`/jobs/${jobId}`);
  await page.getByText("Export", { exact: true }).click();
  await expect(page.getByRole("link", { name: "Attempts as CSV" })).toBeVisible();
  await expectAccessibleInBothThemes(page, "exports");
  await page.getByText("Export", { exact: true }).click();
  await page.locator("[data-figure=mix]").getByText("Table", { exact: true }).click();
  await expect(page.getByRole("region", { name: /, as a table$/ })).toBeVisible();
  await expectAccessibleInBothThemes(page, "a chart as a table");
});

test("schedules, cancels, conflicts and what was left of an edit are accessible on Mix", async ({
  page,
}) => {
  const admin = await Admin.of(page);
  const jobId = await admin.job("default", unique("axe-mix"), ["web", "code", "legal"]);
  const change = (path: string, basis: number, body: object, method: "POST" | "PUT" = "POST") =>
    admin.send(method, `/jobs/${jobId}/mix${path}`, body, { "If-Match": `"v${basis}"` });
  await page.goto(`/jobs/${jobId}/mix`);
  await page.getByText("At a step", { exact: true }).click();
  await weight(page, "code").fill("60");
  await page.getByRole("textbox", { name: "Reason" }).fill("mine");
  await expect(
    page.getByRole("textbox", { name: "First step with the new weights" }),
  ).toBeVisible();
  await expectAccessibleInBothThemes(page, "a change for a step, being made");

  const weights = { web: 1, code: 2, legal: 1 };
  await change("/changes", 1, { weights, reason: "later", at_step: 5000 });
  const card = page.getByRole("listitem").filter({ hasText: "Waits for step" });
  await card.getByRole("button", { name: "Cancel…" }).click();
  await expectAccessibleInBothThemes(page, "a change that waits, being cancelled");
  await page.keyboard.press("Escape");

  await change("", 1, { weights: { web: 8, code: 1, legal: 1 }, reason: "theirs" }, "PUT");
  const conflict = page.getByRole("alert").filter({ hasText: "made v2 while you edited v1" });
  await expect(conflict.getByRole("button", { name: "Take both" })).toBeVisible();
  await expectAccessibleInBothThemes(page, "an edit that somebody else got ahead of");
  await page.getByRole("button", { name: "Take v2, drop my edit" }).click();

  await page.getByRole("button", { name: "Pause code now" }).click();
  await expect(page.getByRole("list", { name: "What v2 becomes" })).toBeVisible();
  await expectAccessibleInBothThemes(page, "a source about to be paused");
});

test("a change that needs attention, and a revert that somebody else got ahead of, are accessible", async ({
  page,
}) => {
  const admin = await Admin.of(page);
  const jobId = await admin.job("default", unique("axe-history"), ["web", "code", "legal"]);
  const put = (basis: number, weights: object, reason: string) =>
    admin.send("PUT", `/jobs/${jobId}/mix`, { weights, reason }, { "If-Match": `"v${basis}"` });
  await admin.send(
    "POST",
    `/jobs/${jobId}/mix/changes`,
    { weights: { web: 1, code: 2, legal: 1 }, reason: "planned", at: Date.now() / 1000 + 5 },
    { "If-Match": '"v1"' },
  );
  await put(1, { web: 8, code: 1, legal: 1 }, "hotfix");
  await page.goto(`/jobs/${jobId}/mix`);
  await expect(page.getByRole("button", { name: "Take it up in the editor" })).toBeVisible({
    timeout: 60_000,
  });
  await expectAccessibleInBothThemes(page, "a change that needs attention");

  await page.goto(`/jobs/${jobId}/history`);
  await page.getByRole("button", { name: "Revert to v1", exact: true }).click();
  await page.getByLabel("Why back to the weights of v1?").fill("back");
  await expectAccessibleInBothThemes(page, "a revert, being made");
  await put(2, { web: 1, code: 8, legal: 1 }, "theirs");
  await expect(page.getByRole("alert").filter({ hasText: "made v3" })).toBeVisible();
  await expectAccessibleInBothThemes(page, "a revert that somebody else got ahead of");
});
