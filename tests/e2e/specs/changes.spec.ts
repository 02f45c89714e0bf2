import type { Browser, Locator, Page } from "@playwright/test";

import { Admin } from "./admin-api";
import { environment } from "./environment";
import { expect, logIn, test } from "./harness";
import { signedIn } from "./people";

const weight = (page: Page, source: string) =>
  page.getByRole("textbox", { name: `Weight of ${source}, percent` });

const card = (page: Page, reason: string): Locator =>
  page
    .getByRole("listitem")
    .filter({ hasText: reason })
    .filter({ has: page.getByRole("heading") });

async function edit(page: Page, source: string, percent: string, reason: string): Promise<void> {
  await weight(page, source).fill(percent);
  await page.getByRole("textbox", { name: "Reason" }).fill(reason);
}

/** A page of a browser where somebody else is signed in. */
const openAs = async (browser: Browser, username: string): Promise<Page> =>
  (await signedIn(browser, username)).newPage();

/** A name that no other run of the spec used. */
const unique = (name: string) => `${name}-${Date.now().toString(36)}`;

test("schedules at a step, shows it to a second browser at once, and cancels it", async ({
  page,
  browser,
  watch: _watch,
}) => {
  const admin = await Admin.of(page);
  const jobId = await admin.job("default", unique("scheduled"), ["web", "code"]);
  await page.goto(`/jobs/${jobId}/mix`);
  const other = await browser.newContext({ baseURL: environment.url });
  await logIn(other);
  const second = await other.newPage();
  await second.goto(`/jobs/${jobId}/mix`);
  await expect(second.getByRole("heading", { name: "No change waits" })).toBeVisible();

  await edit(page, "code", "70", "code in the second half");
  await page.getByText("At a step", { exact: true }).click();
  await page.getByRole("textbox", { name: "First step with the new weights" }).fill("5000");
  await page.getByRole("button", { name: "Schedule the change" }).click();
  await expect(page.getByRole("heading", { name: "1 change waiting" })).toBeFocused();
  // Told by an event of its own: no poll of a live page would bring it.
  await expect(card(second, "code in the second half")).toContainText("Waits for step");

  const mine = card(page, "code in the second half");
  await expect(mine.getByText("scheduled", { exact: true })).toBeVisible();
  await mine.getByRole("button", { name: "Cancel…" }).click();
  await page.keyboard.press("Escape");
  await expect(mine.getByRole("button", { name: "Cancel…" })).toBeFocused();
  await mine.getByRole("button", { name: "Cancel…" }).click();
  await page.keyboard.type("not needed after all");
  await page.keyboard.press("Enter");
  await expect(page.getByRole("heading", { name: "No change waits" })).toBeVisible();
  await expect(second.getByRole("heading", { name: "No change waits" })).toBeVisible();
  await page.getByRole("button", { name: "Show earlier changes" }).click();
  await expect(page.getByRole("list", { name: "Earlier changes" })).toContainText(
    "not needed after all",
  );
  await other.close();
});

test("schedules at a time in the reader's zone, and makes the version when it comes", async ({
  page,
}) => {
  test.setTimeout(200_000);
  const admin = await Admin.of(page);
  const jobId = await admin.job("default", unique("timed"), ["web", "code"]);
  await page.goto(`/jobs/${jobId}/mix`);
  await edit(page, "code", "60", "when the night begins");
  await page.getByText("At a time", { exact: true }).click();
  const field = page.getByLabel("Date and time, Europe/Berlin");
  await field.fill("2031-07-01T18:30");
  await expect(page.getByText(/2031-07-01 16:30:00 UTC, in \d+ d/)).toBeVisible();
  // The next whole minute but one, as a reader in Berlin writes it.
  const soon = new Date(Math.ceil(Date.now() / 60_000 + 0.5) * 60_000);
  const local = new Intl.DateTimeFormat("sv-SE", {
    timeZone: "Europe/Berlin",
    dateStyle: "short",
    timeStyle: "short",
  }).format(soon);
  await field.fill(local.replace(" ", "T"));
  await page.getByRole("button", { name: "Schedule the change" }).click();
  await expect(card(page, "when the night begins")).toContainText("Waits for");
  const life = page.getByRole("list", { name: "Life of v2" });
  await expect(life).toBeVisible({ timeout: 120_000 });
  await expect(life).toContainText("Scheduled for");
  await expect(life).toContainText("Made v2");
  await expect(page.getByText("The job has not started")).not.toHaveCount(0);
});

test("a change that somebody else got ahead of needs attention, and is taken up on top of theirs", async ({
  page,
}) => {
  const admin = await Admin.of(page);
  const jobId = await admin.job("default", unique("overtaken"), ["web", "code", "legal"]);
  await page.goto(`/jobs/${jobId}/mix`);
  const made = await admin.send<{ id: string }>(
    "POST",
    `/jobs/${jobId}/mix/changes`,
    { weights: { web: 1, code: 2, legal: 1 }, reason: "planned before", at: Date.now() / 1000 + 5 },
    { "If-Match": '"v1"' },
  );
  await admin.send(
    "PUT",
    `/jobs/${jobId}/mix`,
    { weights: { web: 8, code: 1, legal: 1 }, reason: "hotfix" },
    { "If-Match": '"v1"' },
  );
  const stopped = card(page, "planned before");
  await expect(stopped).toContainText("needs attention", { timeout: 30_000 });
  await expect(stopped).toContainText("version 2");
  await expect(stopped.getByRole("row", { name: /^code/ }).getByRole("cell")).toHaveText([
    "33.3333 %",
    "10.00 %",
    "50.00 %",
  ]);
  await stopped.getByRole("button", { name: "Take it up in the editor" }).click();
  await expect(weight(page, "code")).toHaveValue("50.00");
  await page.getByText("Now", { exact: true }).click();
  await page.getByRole("button", { name: "Send the change" }).click();
  await expect(page.getByRole("list", { name: "Life of v3" })).toBeVisible();
  await expect(page.getByRole("heading", { name: "No change waits" })).toBeVisible();
  const state = await page.request.get(`/api/v1/jobs/${jobId}/mix/changes/${made.id}`);
  expect(((await state.json()) as { state: string }).state).toBe("replaced");
});

test("pauses a source and resumes it, and says who gets its share before either", async ({
  page,
}) => {
  const admin = await Admin.of(page);
  const jobId = await admin.job("default", unique("paused"), ["web", "code", "legal", "news"]);
  await page.goto(`/jobs/${jobId}/mix`);
  await weight(page, "web").fill("40");
  await page.getByRole("button", { name: "Pause code now" }).click();
  const shares = page.getByRole("list", { name: "What v1 becomes" });
  await expect(shares).toContainText("code 25.00 % → 0.00 %");
  await expect(shares).toContainText("news 25.00 % → 33.3333 %");
  await page.keyboard.type("bad files in code");
  await page.keyboard.press("Enter");
  await expect(page.getByRole("list", { name: "Life of v2" })).toBeVisible();
  // The edit under way is kept, and told of the new version.
  await expect(
    page.getByRole("alert").filter({ hasText: "made v2 while you edited v1" }),
  ).toBeVisible();
  await expect(weight(page, "web")).toHaveValue("40.00");
  await page.getByRole("button", { name: "Take v2, drop my edit" }).click();

  await page.getByRole("button", { name: "Resume code now" }).click();
  await expect(page.getByRole("list", { name: "What v2 becomes" })).toContainText(
    "code 0.00 % → 25.00 %",
  );
  await page.keyboard.type("cleaned");
  await page.keyboard.press("Enter");
  await expect(page.getByRole("list", { name: "Life of v3" })).toBeVisible();
  await expect(weight(page, "code")).toHaveValue("25.00");
});

test("keeps an edit over a reload and over a session that ended", async ({
  page,
  context,
  watch,
}) => {
  const admin = await Admin.of(page);
  const jobId = await admin.job("default", unique("kept"), ["web", "code"]);
  await page.goto(`/jobs/${jobId}/mix`);
  await edit(page, "code", "81", "half a thought");
  await page.reload();
  await expect(weight(page, "code")).toHaveValue("81.00");
  watch.allow(/status of 401/);
  await context.clearCookies();
  await page.getByRole("button", { name: "Send the change" }).click();
  await expect(page.getByRole("button", { name: "Log in" })).toBeVisible();
  await page.getByRole("textbox", { name: "Name" }).fill(environment.username);
  await page.getByRole("textbox", { name: "Password" }).fill(environment.password);
  await page.getByRole("button", { name: "Log in" }).click();
  await expect(weight(page, "code")).toHaveValue("81.00");
  await expect(page.getByRole("textbox", { name: "Reason" })).toHaveValue("half a thought");
  await page.getByRole("button", { name: "Send the change" }).click();
  await expect(page.getByRole("list", { name: "Life of v2" })).toBeVisible();
  await page.reload();
  await expect(page.getByRole("textbox", { name: "Reason" })).toHaveValue("");
});

test("a change waits for a second person, who approves it; a viewer may only look", async ({
  page,
  browser,
}) => {
  const admin = await Admin.of(page);
  const project = unique("careful");
  const [ed, cy, vi] = [unique("ed"), unique("cy"), unique("vi")];
  await admin.project(project);
  await admin.send("PATCH", `/projects/${project}/settings`, { requires_approval: true });
  const jobId = await admin.job(project, "careful", ["web", "code"]);
  await admin.person(ed, project, "operator");
  await admin.person(cy, project, "approver");
  await admin.person(vi, project, "viewer");

  const author = await openAs(browser, ed);
  await author.goto(`/jobs/${jobId}/mix`);
  await expect(author.getByText("The project asks for a second person")).toBeVisible();
  await edit(author, "code", "60", "code lifts the loss");
  await author.getByRole("button", { name: "Send the change" }).click();
  await expect(author.getByRole("heading", { name: "1 change waiting" })).toBeFocused();
  const mine = card(author, "code lifts the loss");
  await expect(mine).toContainText("An approver or an admin of the project may decide.");
  await expect(mine.getByRole("button", { name: "Approve…" })).toHaveCount(0);

  const viewer = await openAs(browser, vi);
  await viewer.goto(`/jobs/${jobId}/mix`);
  await expect(viewer.getByText(/You may look at the mix of/)).toBeVisible();
  await expect(card(viewer, "code lifts the loss")).toContainText("awaiting approval");
  await expect(viewer.getByRole("slider")).toHaveCount(0);
  await expect(viewer.getByRole("textbox")).toHaveCount(0);
  await expect(viewer.getByRole("button", { name: /Approve|Reject|Cancel|Send/ })).toHaveCount(0);

  const approver = await openAs(browser, cy);
  await approver.goto(`/jobs/${jobId}/mix`);
  const theirs = card(approver, "code lifts the loss");
  await theirs.getByRole("button", { name: "Approve…" }).click();
  await approver.keyboard.type("agreed");
  await approver.keyboard.press("Enter");
  for (const each of [approver, author, viewer]) {
    const life = each.getByRole("list", { name: "Life of v2" });
    await expect(life).toContainText(`Approved by ${cy}`);
  }
  for (const each of [approver, author, viewer]) await each.context().close();
});
