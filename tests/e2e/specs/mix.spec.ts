import type { Page } from "@playwright/test";

import { Admin } from "./admin-api";
import { environment } from "./environment";
import { expect, fact, logIn, test } from "./harness";
import { Watch } from "./watched-page";

const weight = (page: Page, source: string) =>
  page.getByRole("textbox", { name: `Weight of ${source}, percent` });

/** A count as the pages write it. */
const grouped = (count: number) => count.toLocaleString("en-US").replaceAll(",", "\u202f");

async function openMix(page: Page, jobId: string): Promise<number> {
  await page.goto(`/jobs/${jobId}/mix`);
  await expect(weight(page, "code")).toBeVisible();
  const caption = await page.getByText(/^Weights, compared with v\d+$/).innerText();
  return Number(caption.replaceAll(/[^\d]/g, ""));
}

/** Waits for the whole life of a version; an edit for a later step takes as long as the job takes to get there. */
async function expectApplied(page: Page, version: number): Promise<void> {
  const track = page.getByRole("list", { name: `Life of v${version}` });
  const all = `Applied on ${environment.ranks} of ${environment.ranks} ranks`;
  await expect(track.getByText(all)).toBeVisible({ timeout: 60_000 });
  await expect(track.getByText(/^Agreed at step [\d\s]+$/)).toBeVisible();
  await expect(track.getByText("not yet")).toHaveCount(0);
}

test("changes a weight for a reason and shows it agreed at one step and applied on every rank", async ({
  page,
  jobId,
}) => {
  const basis = await openMix(page, jobId);
  await weight(page, "code").fill("60");
  await expect(weight(page, "prose")).toHaveValue("24.00");
  await expect(page.getByRole("row", { name: /^code/ }).getByText("+10.00 pp")).toBeVisible();
  await page.getByRole("textbox", { name: "Reason" }).fill("code lifts the loss");
  await page.getByRole("button", { name: "Send the change" }).click();
  await expect(page.getByRole("heading", { name: "Newest version" })).toBeFocused();
  await expectApplied(page, basis + 1);
  await expect(fact(page, "Mix in force")).toContainText(`v${basis + 1} since step`);

  const answer = await page.request.get(`/api/v1/jobs/${jobId}/mix`);
  const { weights_ppm, life } = (await answer.json()) as {
    weights_ppm: Record<string, number>;
    life: { agreed_step: number };
  };
  expect(weights_ppm).toEqual({ code: 600_000, prose: 240_000, legal: 160_000 });
  await expect(page.getByText(`Agreed at step ${grouped(life.agreed_step)}`)).toBeVisible();
});

test("takes effect at a step that was asked for, ramped, by keyboard alone", async ({
  page,
  jobId,
}) => {
  test.setTimeout(150_000);
  const basis = await openMix(page, jobId);
  const { step } = (await (await page.request.get(`/api/v1/jobs/${jobId}`)).json()) as {
    step: number;
  };
  const asked = step + 300;

  const slider = page.getByRole("slider", { name: "Weight of code" });
  await slider.focus();
  const before = Number(await slider.inputValue());
  for (let press = 0; press < 5; press += 1) await page.keyboard.press("ArrowLeft");
  expect(Number(await slider.inputValue())).toBeLessThan(before);
  await page.keyboard.press("Tab"); // the number
  await page.keyboard.type("40");
  await page.keyboard.press("Tab"); // the lock
  await page.keyboard.press("Space");
  await expect(page.getByRole("button", { name: "Lock code" })).toHaveAttribute(
    "aria-pressed",
    "true",
  );
  await page.getByRole("radio", { name: "Now" }).focus();
  await page.keyboard.press("ArrowRight");
  await page.keyboard.press("Tab"); // the step
  await page.keyboard.type(String(asked));
  await page.keyboard.press("Tab"); // the ramp
  await page.keyboard.press("Control+A");
  await page.keyboard.type("10");
  await page.keyboard.press("Tab"); // the reason
  await page.keyboard.type("a step by keyboard");
  await page.keyboard.press("Control+Enter");

  await expectApplied(page, basis + 1);
  await expect(page.getByText(`Agreed at step ${grouped(asked)}`)).toBeVisible();
});

test("lets one of two editors win, shows the other both sides and keeps their edit", async ({
  page,
  browser,
  jobId,
  watch,
}) => {
  // The browser itself reports the refusal that this provokes.
  watch.allow(/status of 412/);
  const basis = await openMix(page, jobId);
  // This page hears nothing of the other's edit, so that the server has to refuse its own.
  await page.route("**/api/v1/events", (route) => route.abort());
  watch.allow(/ERR_FAILED.*\/api\/v1\/events/);
  await page.reload();
  await weight(page, "code").fill("70");
  await page.getByRole("textbox", { name: "Reason" }).fill("mine");
  await page.route(`**/api/v1/jobs/${jobId}/mix`, (route) =>
    route.request().method() === "GET" ? new Promise(() => undefined) : route.continue(),
  );

  const other = await browser.newContext({ baseURL: environment.url });
  await logIn(other);
  const theirs = await other.newPage();
  const theirWatch = await Watch.of(theirs);
  await openMix(theirs, jobId);
  await weight(theirs, "code").fill("10");
  await theirs.getByRole("textbox", { name: "Reason" }).fill("theirs");
  await theirs.getByRole("button", { name: "Send the change" }).click();
  await expectApplied(theirs, basis + 1);
  await theirWatch.expectClean();
  await other.close();

  await page.getByRole("button", { name: "Send the change" }).click();
  const panel = page
    .getByRole("alert")
    .filter({ hasText: `made v${basis + 1} while you edited v${basis}` });
  await expect(panel).toContainText("“theirs”");
  await expect(panel.getByRole("row", { name: /^code/ }).getByRole("cell")).toContainText([
    "%",
    "10.00 %",
    "70.00 %",
    "70.00 %",
  ]);
  await expect(panel.getByRole("button", { name: "Take both" })).toBeVisible();
  await expect(weight(page, "code")).toHaveValue("70.00");
  await page.unrouteAll({ behavior: "ignoreErrors" });
  await panel.getByRole("button", { name: `Keep my weights, on top of v${basis + 1}` }).click();
  await page.getByRole("button", { name: "Send the change" }).click();
  await expectApplied(page, basis + 2);
});

test("goes back to an earlier version, and the history says so", async ({ page, jobId }) => {
  await page.goto(`/jobs/${jobId}/history`);
  const rows = page.getByRole("listitem").filter({ has: page.getByRole("heading", { level: 3 }) });
  await expect(rows.first()).toBeVisible();
  const newest = await rows.first().getByRole("heading").innerText();
  await page.getByRole("button", { name: "Revert to v1", exact: true }).click();
  const make = `v${Number(newest.slice(1)) + 1}`;
  await page.getByLabel("Why back to the weights of v1?").fill("back to the start");
  await page.getByRole("button", { name: `Make ${make}` }).click();

  const made = rows.first();
  await expect(made.getByRole("heading", { name: make })).toBeVisible();
  await expect(made).toContainText("back to v1");
  await expect(made).toContainText("back to the start");
  await expect(made).toContainText(`applied on ${environment.ranks} of ${environment.ranks} ranks`);
  await expect(made.getByText(/→ 50.00 %/)).toBeVisible();
  await expect(made.getByRole("list", { name: `Where ${make} took effect` })).toContainText(
    /step [\d\s]+ of attempt 1/,
  );
});

test("from the login to a change that is applied, by keyboard alone", async ({
  page,
  jobId,
  context,
  watch,
}) => {
  test.setTimeout(150_000);
  watch.allow(/status of 401/);
  await context.clearCookies();
  await page.goto(`/jobs/${jobId}/mix`);
  await expect(page.getByRole("textbox", { name: "Name" })).toBeVisible();
  await page.getByRole("textbox", { name: "Name" }).focus();
  await page.keyboard.type(environment.username);
  await page.keyboard.press("Tab");
  await page.keyboard.type(environment.password);
  await page.keyboard.press("Enter");
  await expect(weight(page, "code")).toBeVisible();
  const caption = await page.getByText(/^Weights, compared with v\d+$/).innerText();
  const basis = Number(caption.replaceAll(/[^\d]/g, ""));

  /** Tabs on until a control of this name has the focus. */
  const tabTo = async (name: RegExp) => {
    for (let press = 0; press < 60; press += 1) {
      await page.keyboard.press("Tab");
      const told = await page.evaluate(() => {
        const at = document.activeElement;
        const labels = at instanceof HTMLElement && "labels" in at ? at.labels : null;
        const label = (labels as NodeListOf<HTMLLabelElement> | null)?.[0]?.textContent;
        return at?.getAttribute("aria-label") ?? label ?? at?.textContent ?? "";
      });
      if (name.test(told)) return;
    }
    throw new Error(`Tab never came to ${name.source}`);
  };
  await tabTo(/^Weight of prose$/);
  await page.keyboard.press("Shift+ArrowRight");
  await page.keyboard.press("ArrowRight");
  await tabTo(/^Reason/);
  await page.keyboard.type("prose by keyboard");
  await page.keyboard.press("Control+Enter");
  await expect(page.getByRole("heading", { name: "Newest version" })).toBeFocused();
  await expectApplied(page, basis + 1);

  // As it was, so that what comes after finds the mix it knows.
  const admin = await Admin.of(page);
  await admin.send(
    "POST",
    `/jobs/${jobId}/mix/versions/${basis}/revert`,
    { reason: "as it was" },
    { "If-Match": `"v${basis + 1}"` },
  );
});

test("finds in the audit log what was done, by whom and why, from the address alone", async ({
  page,
  jobId,
}) => {
  await page.goto(`/jobs/${jobId}/history`);
  await page.getByText("Audit log", { exact: true }).click();
  await page.getByRole("searchbox", { name: "Text" }).fill("BACK TO THE START");
  await page.keyboard.press("Enter");
  const events = page.getByRole("list", { name: "Audit events" });
  await expect(events.getByText("mix.revert")).toHaveCount(1);
  await expect(events).toContainText(environment.username);
  await page.reload();
  await expect(events.getByText("mix.revert")).toHaveCount(1);
  const file = page.waitForEvent("download");
  await page.getByRole("link", { name: "Audit log as CSV" }).click();
  expect((await file).suggestedFilename()).toMatch(/audit.*\.csv$/);
});
