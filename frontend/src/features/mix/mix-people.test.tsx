import { screen, waitFor, within } from "@testing-library/react";
import { http, HttpResponse } from "msw";
import { beforeEach, expect, it } from "vitest";

import { changesKey } from "@/api/queries/changes";
import { job, JOB_ID, mixChange, mixVersion, session } from "@/testing/fixtures";
import { field, haveChanges, onPost, posts, serve, type, user } from "@/testing/mix-server";
import { renderPage } from "@/testing/render";
import { at, server } from "@/testing/server";

import { MixPage } from "./mix-page";

beforeEach(() => {
  sessionStorage.clear();
  haveChanges();
  serve(() => mixVersion());
});

const awaiting = (author: string) =>
  mixChange({
    state: "awaiting_approval",
    starts: "at_once",
    at_step: null,
    author,
    expires_at: "2126-12-07T10:00:00Z",
  });

it("lets an approver decide on the change of somebody else, with a reason to reject", async () => {
  serve(() => mixVersion(), session("cy", "approver"));
  haveChanges(awaiting("ada"));
  server.use(
    onPost(`changes/${mixChange().id}/reject`, () => {
      haveChanges();
      return HttpResponse.json(mixChange({ state: "rejected" }));
    }),
  );
  renderPage(<MixPage jobId={JOB_ID} />);
  const card = await screen.findByRole("listitem", { name: /Change at once/ });
  expect(within(card).getByText(/Waits for an approval by somebody other than ada/)).toBeDefined();
  expect(within(card).getByRole("button", { name: "Approve…" })).toBeDefined();
  await user.click(within(card).getByRole("button", { name: "Reject…" }));
  expect(screen.getByRole("button", { name: "Reject it" }).hasAttribute("disabled")).toBe(true);
  await user.keyboard("too much code{Enter}");
  expect(await screen.findByRole("heading", { name: "No change waits" })).toBeDefined();
  expect(posts[0]?.body).toEqual({ reason: "too much code" });
});

it("has no way to approve one's own change, and says why", async () => {
  serve(() => mixVersion(), session("cy", "approver"));
  haveChanges(awaiting("cy"));
  renderPage(<MixPage jobId={JOB_ID} />);
  expect(await screen.findByText(/It is your own: somebody else must approve it/)).toBeDefined();
  expect(screen.queryByRole("button", { name: "Approve…" })).toBeNull();
});

it("shows a viewer the mix and what waits, says why nothing can be changed, and has no control for it", async () => {
  serve(() => mixVersion(), session("vi", "viewer"));
  haveChanges(awaiting("ada"));
  renderPage(<MixPage jobId={JOB_ID} />);
  expect(await screen.findByText(/You may look at the mix of default/)).toBeDefined();
  expect(
    await screen.findByText(/An approver or an admin of the project may decide/),
  ).toBeDefined();
  expect(screen.getByRole("row", { name: /code/ }).textContent).toContain("50.00 %");
  expect(screen.queryByRole("textbox")).toBeNull();
  expect(screen.queryByRole("slider")).toBeNull();
  expect(screen.getAllByRole("button").map((button) => button.textContent)).not.toContain(
    "Cancel…",
  );
});

it("shows who gets the share of a paused source before it is sent, and sends the pause alone", async () => {
  server.use(
    http.post(at(`/jobs/${JOB_ID}/mix/preview`), () =>
      HttpResponse.json({
        weights_ppm: { code: 0, prose: 600_000, legal: 400_000 },
        delta_ppm: { code: -500_000, prose: 300_000, legal: 200_000 },
        epochs_at_end: { code: 1, prose: 1, legal: 1 },
        warnings: [],
      }),
    ),
    onPost("pause", () => HttpResponse.json(mixVersion({ version: 4, author: "ada" }))),
  );
  renderPage(<MixPage jobId={JOB_ID} />);
  await type("Weight of prose, percent", "31");
  await user.click(screen.getByRole("button", { name: "Pause code now" }));
  const shares = await screen.findByRole("list", { name: "What v3 becomes" });
  await waitFor(() =>
    expect(
      within(shares)
        .getAllByRole("listitem")
        .map((item) => item.textContent),
    ).toEqual([
      "code 50.00 % → 0.00 % (−50.00 pp)",
      "prose 30.00 % → 60.00 % (+30.00 pp)",
      "legal 20.00 % → 40.00 % (+20.00 pp)",
    ]),
  );
  expect(posts).toEqual([]);
  await user.type(screen.getByRole("textbox", { name: /Why code stops/ }), "bad files");
  await user.click(screen.getByRole("button", { name: "Pause code" }));
  await waitFor(() => expect(posts).toHaveLength(1));
  expect(posts[0]).toEqual({
    path: "pause",
    ifMatch: null,
    body: { source: "code", reason: "bad files" },
  });
  // The edit that was under way is still there, beside the new version.
  expect((await field("Weight of prose, percent")).value).toBe("31.00");
});

it("filters many sources, keeps their total in sight and their places", async () => {
  const names = Array.from({ length: 50 }, (_, index) => `source-${index}`);
  const version = mixVersion({
    weights_ppm: Object.fromEntries(names.map((name) => [name, 20_000])),
  });
  server.use(
    http.get(at(`/jobs/${JOB_ID}`), () =>
      HttpResponse.json(
        job({ mix: names.map((source) => ({ source, target_ppm: 20_000, realised_ppm: null })) }),
      ),
    ),
    http.get(at(`/jobs/${JOB_ID}/mix`), () => HttpResponse.json(version)),
  );
  renderPage(<MixPage jobId={JOB_ID} />);
  await user.type(await screen.findByRole("searchbox", { name: "Filter the sources" }), "-49");
  expect(screen.getAllByRole("slider")).toHaveLength(1);
  expect(screen.getByText("1 of 50 sources")).toBeDefined();
  expect(screen.getByText("Total 100.00 %")).toBeDefined();
});

it("asks for the changes again when one moved elsewhere", async () => {
  const { client } = renderPage(<MixPage jobId={JOB_ID} />);
  await screen.findByRole("heading", { name: "No change waits" });
  haveChanges(mixChange({ author: "bo" }));
  await client.invalidateQueries({ queryKey: changesKey(JOB_ID) });
  expect(await screen.findByRole("heading", { name: "1 change waiting" })).toBeDefined();
});
