import { type Browser, type BrowserContext, type Page } from "@playwright/test";

import { environment } from "./environment";
import { expect } from "./harness";

/** The password of everybody that specs make. */
export const PASSWORD = "a password only for tests";

/** Sends a write of the API as whoever is signed in to the page's browser; it must be taken. */
export async function send(page: Page, method: string, path: string, data?: object): Promise<void> {
  const session = (await (await page.request.get("/api/v1/session")).json()) as {
    csrf_token: string;
  };
  const answer = await page.request.fetch(`/api/v1${path}`, {
    method,
    ...(data !== undefined && { data }),
    headers: { "X-CSRF-Token": session.csrf_token, Origin: environment.url },
  });
  expect(answer.ok(), `${method} ${path}: ${await answer.text()}`).toBe(true);
}

/** A browser of its own, signed in as somebody. */
export async function signedIn(browser: Browser, username: string): Promise<BrowserContext> {
  const context = await browser.newContext({ baseURL: environment.url });
  const answer = await context.request.post("/api/v1/session", {
    data: { username, password: PASSWORD },
  });
  expect(answer.ok(), await answer.text()).toBe(true);
  return context;
}
