import { test as base, expect, type BrowserContext, type Page } from "@playwright/test";

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

/** The number that the text of the job's header says for the step. */
export async function shownStep(page: Page): Promise<number> {
  const text = await page.getByRole("banner").or(page.locator("main")).getByTestId("step").first().innerText();
  return Number(text.replaceAll(/[^\d]/g, ""));
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
