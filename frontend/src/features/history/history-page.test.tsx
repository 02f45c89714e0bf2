import { screen, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { http, HttpResponse } from "msw";
import { expect, it } from "vitest";

import { JOB_ID, mixVersion } from "@/testing/fixtures";
import { renderPage } from "@/testing/render";
import { at, server } from "@/testing/server";

import { HistoryPage } from "./history-page";

const first = mixVersion({
  version: 1,
  parent: null,
  weights_ppm: { code: 400_000, prose: 400_000, legal: 200_000 },
  author: "config",
  origin: "config",
  reason: "configured weights",
});
const newest = mixVersion({ version: 2, parent: 1, from_step: 1200, ramp_steps: 100 });

const path = at(`/jobs/${JOB_ID}/mix/versions`);
const serve = () =>
  server.use(
    http.get(path, () => HttpResponse.json({ items: [newest, first], next_cursor: null })),
  );

it("says of each version who made it, why, what it changed and when it took effect", async () => {
  serve();
  renderPage(<HistoryPage jobId={JOB_ID} />);
  const row = await screen.findByRole("listitem", { name: "v2" });
  expect(within(row).getByText(/^ada,/)).toBeDefined();
  expect(within(row).getByText("more code")).toBeDefined();
  const changes = within(row).getByRole("list", { name: "Changes from v1" });
  expect(
    within(changes)
      .getAllByRole("listitem")
      .map((item) => item.textContent),
  ).toEqual(["code 40.00 % → 50.00 % (+10.00 pp)", "prose 40.00 % → 30.00 % (−10.00 pp)"]);
  expect(
    within(row).getByText(/asked for step 1 200 · ramp of 100 steps · agreed at step 1 204/),
  ).toBeDefined();
  expect(within(row).queryByRole("button")).toBeNull();
  const config = screen.getByRole("listitem", { name: "v1" });
  expect(within(config).getByRole("list", { name: "Weights" }).textContent).toContain(
    "code 40.00 %",
  );
});

it("reverts for a reason, on top of the newest version", async () => {
  serve();
  const sent: unknown[] = [];
  server.use(
    http.post(`${path}/1/revert`, async ({ request }) => {
      sent.push(request.headers.get("If-Match"), await request.json());
      return HttpResponse.json(mixVersion({ version: 3, reverts: 1 }));
    }),
  );
  renderPage(<HistoryPage jobId={JOB_ID} />);
  await userEvent.click(await screen.findByRole("button", { name: "Revert to v1" }));
  const reason = screen.getByRole("textbox", { name: /Why back to the weights of v1/ });
  expect(document.activeElement).toBe(reason);
  expect(screen.getByRole("button", { name: "Make v3" }).hasAttribute("disabled")).toBe(true);
  await userEvent.type(reason, "it was better");
  await userEvent.click(screen.getByRole("button", { name: "Make v3" }));
  expect(await screen.findByRole("button", { name: "Revert to v1" })).toBeDefined();
  expect(sent).toEqual(['"v2"', { reason: "it was better" }]);
});

it("says who was first when a revert collides, and sends nothing by itself", async () => {
  serve();
  let tries = 0;
  server.use(
    http.post(`${path}/1/revert`, () => {
      tries += 1;
      const current = mixVersion({ version: 3, author: "bo", reason: "hotfix" });
      return HttpResponse.json({ status: 412, current }, { status: 412 });
    }),
  );
  renderPage(<HistoryPage jobId={JOB_ID} />);
  await userEvent.click(await screen.findByRole("button", { name: "Revert to v1" }));
  await userEvent.type(screen.getByRole("textbox"), "it was better");
  await userEvent.click(screen.getByRole("button", { name: "Make v3" }));
  expect(
    await screen.findByText(/bo made v3 \(“hotfix”\) meanwhile\. Nothing was sent/),
  ).toBeDefined();
  expect(tries).toBe(1);
});
