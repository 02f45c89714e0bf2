import { screen, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { http, HttpResponse } from "msw";
import { expect, it, vi } from "vitest";

import type { Alert, Session } from "@/api/types";
import { JOB_ID } from "@/testing/fixtures";
import { renderPage } from "@/testing/render";
import { at, server } from "@/testing/server";

import { AlertsPage } from "./alerts-page";
import type { AlertsSearch } from "./alerts-search";

const alert = (change: Partial<Alert> = {}): Alert => ({
  id: "a1",
  project: "default",
  job: JOB_ID,
  job_name: "llama-7b",
  attempt: 2,
  rule: "r1",
  rule_name: "Waiting for data",
  kind: "data_wait",
  state: "firing",
  step: 1234,
  value: 0.234,
  threshold: 0.2,
  message: "ranks wait for data 23.4 % of their time",
  announced: true,
  fired_at: "2026-11-30T10:00:00Z",
  acknowledged_at: null,
  acknowledged_by: null,
  comment: null,
  resolved_at: null,
  resolution: null,
  ...change,
});

function serve(open: Alert[], resolved: Alert[], user: Partial<Session["user"]> = {}) {
  const asked: string[] = [];
  server.use(
    http.get(at("/session"), () =>
      HttpResponse.json({
        user: { username: "ada", is_admin: false, roles: { default: "operator" }, ...user },
        csrf_token: "t",
      }),
    ),
    http.get(at("/projects"), () =>
      HttpResponse.json({ items: [{ name: "default", created_at: "2026-11-30T09:00:00Z" }] }),
    ),
    http.get(at("/projects/default/alerts/mutes"), () => HttpResponse.json({ items: [] })),
    http.get(at("/alerts"), ({ request }) => {
      const { searchParams } = new URL(request.url);
      asked.push(searchParams.toString());
      const items = searchParams.getAll("state").includes("resolved") ? resolved : open;
      return HttpResponse.json({ items, next_cursor: null });
    }),
  );
  return asked;
}

const show = (search: AlertsSearch = {}) =>
  renderPage(<AlertsPage search={search} onSearch={vi.fn()} />);

it("shows those that nobody acknowledged first, with figures in their units", async () => {
  const seen = alert({
    id: "a2",
    rule_name: "Rank lost",
    kind: "rank_lost",
    value: 2,
    threshold: 0,
  });
  serve([{ ...seen, state: "acknowledged", acknowledged_by: "bo", comment: "on it" }, alert()], []);
  show();
  const list = await screen.findByRole("list", { name: "Open alerts" });
  const [first, second] = within(list).getAllByRole("listitem");
  expect(first?.textContent).toContain("ranks wait for data 23.4 % of their time");
  expect(first?.textContent).toContain("23.4 % of the time, fires above 20.0 % of the time");
  expect(within(first as HTMLElement).getByRole("link", { name: /^step 1/ })).toBeDefined();
  expect(second?.textContent).toContain("2 ranks, fires above 0 ranks");
});

it("says what is watched where nothing fires, and not where a filter hides it", async () => {
  serve([], []);
  const { unmount } = show();
  expect(await screen.findByRole("heading", { name: "Nothing fires" })).toBeDefined();
  expect(screen.getByText(/ranks wait for data more than 20 % of their time/)).toBeDefined();
  unmount();
  show({ kind: "mix_drift" });
  expect(await screen.findByRole("heading", { name: "No open alert matches" })).toBeDefined();
});

it("passes the filter on, and asks for resolved ones apart", async () => {
  const asked = serve([], []);
  server.use(http.get(at(`/jobs/${JOB_ID}`), () => HttpResponse.json({ name: "llama-7b" })));
  show({ project: "default", kind: "data_wait", job: JOB_ID });
  await screen.findByText("No alert was resolved yet.");
  const rest = `project=default&job=${JOB_ID}&kind=data_wait`;
  expect(asked.sort()).toEqual([
    `limit=50&state=firing&state=acknowledged&${rest}`,
    `limit=50&state=resolved&${rest}`,
  ]);
});

it("acknowledges with a comment", async () => {
  serve([alert()], []);
  const sent: unknown[] = [];
  server.use(
    http.post(at("/alerts/a1/acknowledge"), async ({ request }) => {
      sent.push(await request.json());
      return HttpResponse.json(alert({ state: "acknowledged" }));
    }),
  );
  show();
  await userEvent.click(await screen.findByRole("button", { name: "Acknowledge…" }));
  const dialog = screen.getByRole("dialog", { name: "Acknowledge Waiting for data" });
  await userEvent.type(within(dialog).getByRole("textbox"), "disk is being replaced");
  await userEvent.click(within(dialog).getByRole("button", { name: "Acknowledge" }));
  await vi.waitFor(() => expect(screen.queryByRole("dialog")).toBeNull());
  expect(sent).toEqual([{ comment: "disk is being replaced" }]);
});

it("gives a viewer the reason instead of buttons", async () => {
  serve([alert()], [], { roles: { default: "viewer" } });
  show();
  expect(await screen.findByText("Operators of default acknowledge and mute.")).toBeDefined();
  expect(screen.queryByRole("button", { name: "Acknowledge…" })).toBeNull();
});
