import { screen, waitFor, within } from "@testing-library/react";
import { http, HttpResponse } from "msw";
import { beforeEach, expect, it } from "vitest";

import { JOB_ID, mixChange, mixVersion } from "@/testing/fixtures";
import { field, haveChanges, onPost, posts, serve, type, user } from "@/testing/mix-server";
import { renderPage } from "@/testing/render";
import { at, server } from "@/testing/server";

import { MixPage } from "./mix-page";

beforeEach(() => {
  sessionStorage.clear();
  haveChanges();
  serve(() => mixVersion());
});

it("schedules a change for a step, and forgets the edit once the server has it", async () => {
  server.use(
    onPost("changes", () => {
      haveChanges(mixChange());
      return HttpResponse.json(mixChange(), { status: 201 });
    }),
  );
  renderPage(<MixPage jobId={JOB_ID} />);
  await type("Weight of code, percent", "70");
  await type("Reason", "code in the second half");
  await user.click(screen.getByRole("radio", { name: "At a step" }));
  await type("First step with the new weights", "5 000");
  await type("Ramp, steps", "100");
  await user.click(screen.getByRole("button", { name: "Schedule the change" }));
  const card = await screen.findByRole("listitem", { name: /Change at step 5.000/ });
  expect(posts).toEqual([
    {
      path: "changes",
      ifMatch: '"v3"',
      body: {
        weights: { code: 700_000, prose: 180_000, legal: 120_000 },
        reason: "code in the second half",
        ramp_steps: 100,
        at_step: 5000,
      },
    },
  ]);
  expect(within(card).getByText(/Waits for step 5.000; the job is at 1.500/)).toBeDefined();
  expect(sessionStorage.length).toBe(0);
});

it("refuses a step and a time that have passed before it sends", async () => {
  renderPage(<MixPage jobId={JOB_ID} />);
  await type("Weight of code, percent", "70");
  await type("Reason", "too late");
  await user.click(screen.getByRole("radio", { name: "At a step" }));
  await type("First step with the new weights", "1500");
  expect(await screen.findByText("Step 1500 has passed: the job is at 1500")).toBeDefined();
  await user.click(screen.getByRole("button", { name: "Schedule the change" }));
  expect(posts).toEqual([]);
});

it("asks before it cancels a change, and cancels with the reason", async () => {
  haveChanges(mixChange());
  const deleted: string[] = [];
  server.use(
    http.delete(at(`/jobs/${JOB_ID}/mix/changes/:id`), ({ request }) => {
      deleted.push(new URL(request.url).search);
      haveChanges();
      return HttpResponse.json(mixChange({ state: "cancelled" }));
    }),
  );
  renderPage(<MixPage jobId={JOB_ID} />);
  await user.click(await screen.findByRole("button", { name: "Cancel…" }));
  expect(deleted).toEqual([]);
  await user.keyboard("no need{Enter}");
  expect(await screen.findByRole("heading", { name: "No change waits" })).toBeDefined();
  expect(deleted).toEqual(["?reason=no%20need"]);
});

const stuck = () =>
  mixChange({
    state: "needs_attention",
    why: "it was made for version 2, but version 3 by bo is in its place",
    base_version: 2,
    settled_at: "2026-11-30T10:03:00Z",
    conflict: {
      base: {
        ...mixVersion({ version: 2 }),
        weights_ppm: { code: 400_000, prose: 400_000, legal: 200_000 },
      },
      theirs: mixVersion({ author: "bo" }),
      difference: [
        { source: "code", base_ppm: 400_000, theirs_ppm: 500_000, ours_ppm: 700_000 },
        { source: "prose", base_ppm: 400_000, theirs_ppm: 300_000, ours_ppm: 180_000 },
      ],
    },
  });

it("shows why a change needs attention with its three sides, and takes it up on top of now", async () => {
  haveChanges(stuck());
  server.use(onPost("changes", () => HttpResponse.json(mixChange(), { status: 201 })));
  renderPage(<MixPage jobId={JOB_ID} />);
  const card = await screen.findByRole("listitem", { name: /Change at step 5.000/ });
  expect(within(card).getByText(/but version 3 by bo is in its place/)).toBeDefined();
  expect(
    within(within(card).getByRole("row", { name: /code/ }))
      .getAllByRole("cell")
      .map((cell) => cell.textContent),
  ).toEqual(["40.00 %", "50.00 %", "70.00 %"]);

  await user.click(within(card).getByRole("button", { name: "Take it up in the editor" }));
  expect((await field("Weight of code, percent")).value).toBe("70.00");
  expect((await field("First step with the new weights")).value).toBe("5000");
  await user.click(screen.getByRole("button", { name: "Schedule the change" }));
  await waitFor(() => expect(posts).toHaveLength(1));
  expect(posts[0]).toMatchObject({
    ifMatch: '"v3"',
    body: { replaces: stuck().id, at_step: 5000 },
  });
});

it("asks before what is taken up would overwrite an edit that is not sent", async () => {
  haveChanges(stuck());
  renderPage(<MixPage jobId={JOB_ID} />);
  await type("Weight of code, percent", "10");
  await user.click(screen.getByRole("button", { name: "Take it up in the editor" }));
  await user.click(await screen.findByRole("button", { name: "Keep my edit" }));
  expect((await field("Weight of code, percent")).value).toBe("10.00");
  await user.click(screen.getByRole("button", { name: "Take it up in the editor" }));
  await user.click(await screen.findByRole("button", { name: "Drop mine, take it up" }));
  expect((await field("Weight of code, percent")).value).toBe("70.00");
});
