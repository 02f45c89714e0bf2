import { createServer, type IncomingMessage, type Server } from "node:http";
import type { AddressInfo } from "node:net";

import { environment } from "./environment";
import { expect, test } from "./harness";
import { PASSWORD, send, signedIn } from "./people";

// Whole flows, each of a dozen answers of the server.
test.describe.configure({ timeout: 240_000 });

const SETTINGS = "/settings/default";

test("makes a key that works, shows it once, and revokes it for good", async ({
  page,
  playwright,
}) => {
  const name = `spec key ${Date.now()}`;
  await page.goto(`${SETTINGS}/keys`);
  const opener = page.getByRole("button", { name: "New key…" });
  await opener.click();
  const dialog = page.getByRole("dialog", { name: "New key for default" });
  await expect(dialog.getByLabel("Name", { exact: true })).toBeFocused();
  await page.keyboard.press("Escape");
  await expect(dialog).toHaveCount(0);
  await expect(opener).toBeFocused();

  await page.keyboard.press("Enter");
  await dialog.getByLabel("Name", { exact: true }).fill(name);
  await dialog.getByLabel(/^ingest/).uncheck();
  await dialog.getByLabel(/^read/).check();
  await dialog.getByLabel("Ends after").selectOption("30 days");
  await page.keyboard.press("Tab");
  await dialog.getByRole("button", { name: "Make key" }).click();

  const made = page.getByRole("dialog", { name: `Key ${name}` });
  await expect(made.getByText("the only time that the API key is shown")).toBeVisible();
  const key = await made.getByLabel("API key").innerText();
  await made.getByRole("button", { name: "I have kept it" }).click();
  await expect(page.getByText(key)).toHaveCount(0);
  const row = page.getByRole("row", { name: new RegExp(name) });
  await expect(row).toContainText("read");
  await expect(row).toContainText("by admin");

  const machine = await playwright.request.newContext({
    baseURL: environment.url,
    extraHTTPHeaders: { Authorization: `Bearer ${key}` },
  });
  expect((await machine.get("/api/v1/projects")).status()).toBe(200);
  await row.getByRole("button", { name: /Revoke/ }).click();
  const asked = page.getByRole("dialog", { name: `Revoke the key ${name}?` });
  await expect(asked.getByRole("button", { name: "Cancel" })).toBeFocused();
  await asked.getByRole("button", { name: "Revoke" }).click();
  await expect(row).toHaveCount(0);
  expect((await machine.get("/api/v1/projects")).status()).toBe(401);
  await machine.dispose();
});

test("adds a person, gives and changes a role, and takes them out again", async ({
  page,
  browser,
  watch,
}) => {
  const name = `spec-member-${Date.now()}`;
  await page.goto("/server/people");
  await page.getByRole("button", { name: "New person…" }).click();
  const dialog = page.getByRole("dialog", { name: "New person" });
  await dialog.getByLabel("User name").fill(name);
  await dialog.getByRole("textbox", { name: "First password" }).fill("short");
  watch.allow(/status of 422/);
  await page.keyboard.press("Enter");
  await expect(dialog.getByText("the password has 5 characters; use at least 12")).toBeVisible();
  await dialog.getByRole("textbox", { name: "First password" }).fill(PASSWORD);
  await page.keyboard.press("Enter");
  await expect(page.getByRole("row", { name: new RegExp(name) })).toBeVisible();

  const theirs = await signedIn(browser, name);
  const seen = async () =>
    ((await (await theirs.request.get("/api/v1/projects")).json()) as { items: unknown[] }).items;
  expect(await seen()).toEqual([]);
  await page.goto(`${SETTINGS}/members`);
  watch.allow(/status of 404/);
  const form = page.getByRole("form", { name: "Add a member" });
  await form.getByLabel("User name").fill("nobody of this name");
  await page.keyboard.press("Enter");
  await expect(form.getByRole("alert")).toHaveText("no user 'nobody of this name'");
  await form.getByLabel("User name").fill(name);
  await page.keyboard.press("Enter");
  const row = page.getByRole("row", { name: new RegExp(name) });
  await expect(row).toBeVisible();
  expect(await seen()).toHaveLength(1);

  await row.getByLabel(`Role of ${name}`).selectOption("operator");
  await expect
    .poll(async () => {
      const session = (await (await theirs.request.get("/api/v1/session")).json()) as {
        user: { roles: Record<string, string> };
      };
      return session.user.roles.default;
    })
    .toBe("operator");
  await row.getByRole("button", { name: /Remove/ }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Remove" }).click();
  await expect(row).toHaveCount(0);
  expect(await seen()).toEqual([]);
  await theirs.close();
  await send(page, "PATCH", `/users/${name}`, { disabled: true });
});

test("shows a viewer what they may see, with the reason for the rest, and nothing that fails", async ({
  page,
  browser,
}) => {
  const name = `spec-viewer-${Date.now()}`;
  await send(page, "POST", "/users", { username: name, password: PASSWORD });
  await send(page, "PUT", `/projects/default/members/${name}`, { role: "viewer" });
  const theirs = await signedIn(browser, name);
  const view = await theirs.newPage();
  const refused: string[] = [];
  view.on("response", (answer) => {
    if (answer.status() >= 400) refused.push(`${answer.status()} ${answer.url()}`);
  });
  for (const [path, reason] of [
    [`${SETTINGS}/members`, "You are a viewer of default."],
    [`${SETTINGS}/keys`, "Only admins of the project see and make its keys."],
    [`${SETTINGS}/webhooks`, "Only admins of the project see and make its webhooks."],
    [`${SETTINGS}/approval`, "Only admins of the project change this."],
    [`${SETTINGS}/archiving`, "Only admins of the project archive or restore it."],
    ["/server/people", "Only administrators of the server see and add people."],
    ["/server/projects", "Only administrators of the server make projects."],
    ["/alerts/rules", "Only admins of default make, change and delete its rules."],
    ["/system", "Only administrators of the server see this"],
  ] as const) {
    await view.goto(path);
    await expect(view.getByText(reason)).toBeVisible();
    await expect(view.locator("main [role=status][aria-label^=Loading]")).toHaveCount(0);
    await expect(view.locator("main button:enabled")).toHaveCount(0);
  }
  await view.goto(`${SETTINGS}/retention`);
  await expect(view.getByRole("row", { name: /Reports of ranks/ })).toContainText("72 h");
  await expect(view.getByRole("link", { name: "System" })).toHaveCount(0);
  expect(refused).toEqual([]);
  await theirs.close();
  await send(page, "PATCH", `/users/${name}`, { disabled: true });
});

test("changes one's own password, and ends one's sessions elsewhere", async ({ page, browser }) => {
  const name = `spec-owner-${Date.now()}`;
  await send(page, "POST", "/users", { username: name, password: PASSWORD });
  const [here, there] = [await signedIn(browser, name), await signedIn(browser, name)];
  const view = await here.newPage();
  await view.goto("/account");
  await view.getByRole("button", { name: "Sign out everywhere else…" }).click();
  await view.getByRole("dialog").getByRole("button", { name: "Sign out" }).click();
  await expect(view.getByText("All other sessions have ended.")).toBeVisible();
  expect((await there.request.get("/api/v1/session")).status()).toBe(401);

  const current = view.getByRole("textbox", { name: "Current password" });
  await current.fill("not the password");
  await view.getByRole("textbox", { name: "New password" }).fill("another one for tests");
  await view.keyboard.press("Enter");
  await expect(view.getByRole("alert")).toHaveText("the current password is wrong");
  await expect(view).toHaveURL(/\/account$/);
  await current.fill(PASSWORD);
  await view.keyboard.press("Enter");
  await expect(view.getByText("The password is changed")).toBeVisible();
  const old = { username: name, password: PASSWORD };
  expect((await there.request.post("/api/v1/session", { data: old })).status()).toBe(401);
  await here.close();
  await there.close();
  await send(page, "PATCH", `/users/${name}`, { disabled: true });
});

test("archives a project once its name is typed, and restores it", async ({ page }) => {
  const name = `spec-project-${Date.now()}`;
  await page.goto("/server/projects");
  await page.getByRole("form", { name: "New project" }).getByLabel("Name").fill(name);
  await page.keyboard.press("Enter");
  await page.getByRole("link", { name }).click();
  await page.getByRole("link", { name: "Archiving" }).click();
  await page.getByRole("button", { name: "Archive…" }).click();
  const dialog = page.getByRole("dialog", { name: `Archive ${name}?` });
  await expect(dialog.getByRole("button", { name: "Archive" })).toBeDisabled();
  await dialog.getByRole("textbox").fill(name);
  await page.keyboard.press("Enter");
  await expect(page.getByText("Archived")).toBeVisible();
  await expect(page.getByLabel("Project", { exact: true })).toContainText(`${name} (archived)`);
  await page.getByRole("button", { name: "Restore…" }).click();
  await page.getByRole("dialog").getByRole("textbox").fill(name);
  await page.keyboard.press("Enter");
  await expect(page.getByRole("button", { name: "Archive…" })).toBeVisible();
  // Put away, so that other specs find the one project they know.
  await send(page, "PATCH", `/projects/${name}`, { archived: true });
});

/** A receiver on this machine, which the stage's server may reach by its name; `status` is what it answers. */
async function receiver(): Promise<{
  server: Server;
  url: string;
  got: IncomingMessage[];
  status: { is: number };
}> {
  const got: IncomingMessage[] = [];
  const status = { is: 204 };
  const server = createServer((request, answer) => {
    got.push(request);
    request.resume();
    answer.writeHead(status.is).end(status.is === 204 ? undefined : "no room");
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return { server, url: `http://localhost:${port}/hook`, got, status };
}

test("tries a webhook out: refused addresses, a delivery and a failure are said in words", async ({
  page,
  watch,
}) => {
  const hook = await receiver();
  const name = `spec hook ${Date.now()}`;
  await page.goto(`${SETTINGS}/webhooks`);
  await page.getByRole("button", { name: "New webhook…" }).click();
  const dialog = page.getByRole("dialog", { name: "New webhook of default" });
  await dialog.getByLabel("Name").fill(name);
  await dialog.getByLabel("URL").fill("http://127.0.0.1:9000/hook");
  watch.allow(/status of 422/);
  await page.keyboard.press("Enter");
  await expect(dialog.getByText("leads to an address that is not public")).toBeVisible();
  await dialog.getByLabel("URL").fill(hook.url);
  await page.keyboard.press("Enter");
  const made = page.getByRole("dialog", { name: `Webhook ${name}` });
  await expect(made.getByLabel("secret")).toHaveText(/^hrw_/);
  await made.getByRole("button", { name: "I have kept it" }).click();

  const card = page.getByRole("listitem", { name });
  await expect(card).not.toContainText("/hook");
  await card.getByRole("button", { name: "Send a test" }).click();
  await expect(card.locator("[data-test-result=delivered]")).toHaveText(
    "Test delivered: answered 204 after 1 try.",
  );
  expect(hook.got[0]?.headers["x-headrace-event"]).toBe("test");
  expect(hook.got[0]?.headers["x-headrace-signature"]).toMatch(/^v1=/);

  hook.status.is = 507;
  await card.getByRole("button", { name: "Send a test" }).click();
  await expect(
    card.getByText("Test failed: answered 507: no room; tried again later."),
  ).toBeVisible();
  await card.getByRole("button", { name: "Deliveries" }).click();
  await expect(card.getByRole("table", { name: "Deliveries" }).getByRole("row")).toHaveCount(3);

  await card.getByRole("switch", { name: `${name} is on` }).press("Space");
  await expect(card.getByText("Switch it on to test it.")).toBeVisible();
  await card.getByRole("button", { name: "Delete…" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
  await expect(card).toHaveCount(0);
  hook.server.close();
});
