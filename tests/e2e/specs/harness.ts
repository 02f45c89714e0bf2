import {
  test as base,
  expect,
  type BrowserContext,
  type Locator,
  type Page,
} from "@playwright/test";

import { environment } from "./environment";
import { Watch } from "./watched-page";

/** Logs a browser in as the first user, without the form. */
export async function logIn(context: BrowserContext): Promise<void> {
  const answer = await context.request.post("/api/v1/session", {
    data: { username: environment.username, password: environment.password },
  });
  expect(answer.ok(), await answer.text()).toBe(true);
}

/** The id of the training job, by its name. */
export async function trainingJobId(page: Page): Promise<string> {
  const answer = await page.request.get(`/api/v1/projects/default/jobs?q=${environment.job}`);
  const { items } = (await answer.json()) as { items: { id: string; name: string }[] };
  const found = items.find(({ name }) => name === environment.job);
  if (found === undefined) throw new Error(`no job ${environment.job}: ${JSON.stringify(items)}`);
  return found.id;
}

/** A fact of the job's header, by its label. */
export const fact = (page: Page, label: string): Locator =>
  page.locator("dt", { hasText: label }).locator("+ dd");

/** The step that the job's header shows; NaN before the first. */
export async function shownStep(page: Page): Promise<number> {
  const [step] = (await fact(page, "Step").innerText()).split("/");
  return Number((step ?? "").replaceAll(/[^\d]/g, "") || NaN);
}

interface Fixtures {
  watch: Watch;
  jobId: string;
}

/** A page that is logged in and watched: errors, foreign requests and policy violations fail the test at its end. */
export const test = base.extend<Fixtures>({
  watch: [
    async ({ page, context }, use) => {
      const watch = await Watch.of(page);
      await logIn(context);
      await use(watch);
      await watch.expectClean();
    },
    { auto: true },
  ],
  jobId: async ({ page, watch: _watch }, use) => {
    await use(await trainingJobId(page));
  },
});

export { expect };
