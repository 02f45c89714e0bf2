import { environment } from "./environment";
import { expect, test } from "./harness";

test("asks for a login, refuses a wrong one, and goes on to the page that was asked for", async ({
  page,
  context,
  watch,
}) => {
  // The browser itself reports the two refusals that this provokes.
  watch.allow(/status of 401.*\/api\/v1\/session\)/);
  await context.clearCookies();
  await page.goto("/jobs?state=running");
  await expect(page).toHaveURL(/\/login\?next=/);
  await expect(page.getByLabel("Name")).toBeFocused();

  await page.keyboard.type(environment.username);
  await page.keyboard.press("Tab");
  await page.keyboard.type("not the password");
  await page.keyboard.press("Enter");
  await expect(page.getByRole("alert")).toHaveText("Wrong name or password.");

  await page.getByRole("textbox", { name: "Password" }).fill(environment.password);
  await page.keyboard.press("Enter");
  await expect(page).toHaveURL(/\/jobs\?state=running$/);
  await expect(page.getByRole("link", { name: environment.job })).toBeVisible();
});

test("goes to the login from anywhere once the session has ended, and back", async ({
  page,
  context,
  jobId,
  watch,
}) => {
  watch.allow(/status of 401/);
  await page.goto(`/jobs/${jobId}/ranks`);
  await expect(page.getByRole("table", { name: "Ranks" })).toBeVisible();
  await context.clearCookies();
  await page.getByRole("link", { name: "Overview", exact: true }).click();
  await expect(page).toHaveURL(/\/login\?next=/);

  await page.getByLabel("Name").fill(environment.username);
  await page.getByRole("textbox", { name: "Password" }).fill(environment.password);
  await page.getByRole("button", { name: "Log in" }).click();
  await expect(page).toHaveURL(`${environment.url}/jobs/${jobId}`);
});

test("logs out", async ({ page, watch }) => {
  // What was being asked for when the session ended is refused too.
  watch.allow(/status of 401/);
  await page.goto("/jobs");
  await page.getByRole("button", { name: "Log out" }).click();
  await expect(page).toHaveURL(/\/login$/);
  await page.goto("/jobs");
  await expect(page).toHaveURL(/\/login\?next=/);
});

test("never follows a crafted address to another origin", async ({ page, context, watch }) => {
  watch.allow(/status of 401.*\/api\/v1\/session\)/);
  await context.clearCookies();
  await page.goto("/login?next=//evil.example/");
  await page.getByLabel("Name").fill(environment.username);
  await page.getByRole("textbox", { name: "Password" }).fill(environment.password);
  await page.keyboard.press("Enter");
  await expect(page).toHaveURL(`${environment.url}/jobs`);
});
