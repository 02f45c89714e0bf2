import { screen, waitFor, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { http, HttpResponse } from "msw";
import { beforeEach, expect, it, vi } from "vitest";

import { job, JOB_ID, mixVersion, session } from "@/testing/fixtures";
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
const ATTEMPTS = ["superseded", "live"].map((state, index) => ({
  id: `00000000-0000-4000-8000-00000000000${index}`,
  number: index + 1,
  state,
}));
const activated = ATTEMPTS.map(({ id }, index) => ({
  attempt: id,
  revision: "service:2",
  version: 2,
  step: 1204 + 96 * index,
  at: "2026-11-30T10:00:01Z",
}));

const serve = (reader = session("ada", "operator"), versions = () => [newest, first]) =>
  server.use(
    http.get(at("/session"), () => HttpResponse.json(reader)),
    http.get(at(`/jobs/${JOB_ID}`), () => HttpResponse.json(job())),
    http.get(at(`/jobs/${JOB_ID}/activations`), () => HttpResponse.json({ items: activated })),
    http.get(at(`/jobs/${JOB_ID}/attempts`), () => HttpResponse.json({ items: ATTEMPTS })),
    http.get(path, () => HttpResponse.json({ items: versions(), next_cursor: null })),
  );

const onSearch = vi.fn();
const page = () => <HistoryPage jobId={JOB_ID} search={{}} onSearch={onSearch} />;

beforeEach(() => sessionStorage.clear());

it("says of each version who made it, why, what it changed and when it took effect", async () => {
  serve();
  renderPage(page());
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
  renderPage(page());
  await userEvent.click(await screen.findByRole("button", { name: "Revert to v1" }));
  const reason = screen.getByRole("textbox", { name: /Why back to the weights of v1/ });
  expect(document.activeElement).toBe(reason);
  expect(screen.getByRole("button", { name: "Make v3" }).hasAttribute("disabled")).toBe(true);
  await userEvent.type(reason, "it was better");
  await userEvent.click(screen.getByRole("button", { name: "Make v3" }));
  expect(await screen.findByRole("button", { name: "Revert to v1" })).toBeDefined();
  expect(sent).toEqual(['"v2"', { reason: "it was better" }]);
});

it("says who was first when a revert collides, keeps the reason, and goes on only when told to", async () => {
  const theirs = mixVersion({ version: 3, author: "bo", reason: "hotfix" });
  let held = [newest, first];
  serve(undefined, () => held);
  const bases: (string | null)[] = [];
  server.use(
    http.post(`${path}/1/revert`, ({ request }) => {
      bases.push(request.headers.get("If-Match"));
      if (bases.length > 1) return HttpResponse.json(mixVersion({ version: 4, reverts: 1 }));
      held = [theirs, newest, first];
      return HttpResponse.json({ status: 412, current: theirs }, { status: 412 });
    }),
  );
  const shown = renderPage(page());
  await userEvent.click(await screen.findByRole("button", { name: "Revert to v1" }));
  await userEvent.type(screen.getByRole("textbox"), "it was better");
  await userEvent.click(screen.getByRole("button", { name: "Make v3" }));
  expect(
    await screen.findByText(/bo made v3 \(“hotfix”\) meanwhile\. Nothing was sent/),
  ).toBeDefined();
  const row = screen.getByRole("row", { name: /code/ });
  expect(
    within(row)
      .getAllByRole("cell")
      .map((cell) => cell.textContent),
  ).toEqual(["50.00 %", "50.00 %", "40.00 %"]);
  expect(bases).toEqual(['"v2"']);

  // A reload finds the revert as it was, the collision too.
  shown.unmount();
  renderPage(page());
  const reason = await screen.findByRole<HTMLInputElement>("textbox");
  expect(reason.value).toBe("it was better");
  await userEvent.click(await screen.findByRole("button", { name: "Go on, on top of v3" }));
  await userEvent.click(screen.getByRole("button", { name: "Make v4" }));
  await waitFor(() => expect(bases).toEqual(['"v2"', '"v3"']));
  await waitFor(() => expect(sessionStorage.length).toBe(0));
});

it("says on which attempts and at which steps a version took effect, superseded ones too", async () => {
  serve();
  renderPage(page());
  const where = await screen.findByRole("list", { name: "Where v2 took effect" });
  await waitFor(() =>
    expect(within(where).getAllByRole("listitem")[0]?.textContent).toMatch(
      /step 1.204 of attempt 1 superseded/,
    ),
  );
  expect(within(where).getAllByRole("listitem")[1]?.textContent).toMatch(
    /step 1.300 of attempt 2 live/,
  );
});

it("lets a viewer look and says why not more", async () => {
  serve(session("vi", "viewer"));
  renderPage(page());
  expect(await screen.findByText(/You may look and not revert/)).toBeDefined();
  expect(screen.queryByRole("button", { name: /Revert/ })).toBeNull();
});

it("searches the audit log by what the address says, and says how far back it came", async () => {
  const asked: string[] = [];
  server.use(
    http.get(at("/audit"), ({ request }) => {
      const query = new URL(request.url).searchParams;
      asked.push(`${query.get("q")} ${query.get("action")} ${query.get("from")}`);
      return HttpResponse.json(
        query.has("cursor")
          ? { items: [], next_cursor: null, searched_back_to: null }
          : {
              items: [
                {
                  id: 7,
                  at: "2026-11-30T10:00:00Z",
                  actor: "ada",
                  action: "mix.edit",
                  project: "default",
                  job: JOB_ID,
                  before: { version: 1 },
                  after: { version: 2 },
                  reason: "more code",
                  request_id: "r-1",
                },
              ],
              next_cursor: "next",
              searched_back_to: "2026-11-01T00:00:00Z",
            },
      );
    }),
  );
  const search = { view: "audit", q: "code", action: "mix", from: "2026-11-02" } as const;
  renderPage(<HistoryPage jobId={JOB_ID} search={search} onSearch={onSearch} />);
  const events = await screen.findByRole("list", { name: "Audit events" });
  expect(within(events).getByText("more code")).toBeDefined();
  expect(asked).toEqual([`code mix ${new Date(2026, 10, 2).toISOString()}`]);
  expect(screen.getByText(/^Searched back to/)).toBeDefined();
  await userEvent.click(screen.getByRole("button", { name: "Search on" }));
  await waitFor(() => expect(screen.queryByText(/^Searched back to/)).toBeNull());
  await userEvent.type(screen.getByLabelText("By"), "bo");
  await userEvent.click(screen.getByRole("button", { name: "Search" }));
  expect(onSearch).toHaveBeenLastCalledWith({ ...search, actor: "bo" });
});
