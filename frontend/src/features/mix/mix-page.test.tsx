import { screen, waitFor, within } from "@testing-library/react";
import { http, HttpResponse } from "msw";
import { beforeEach, expect, it } from "vitest";

import { mixQuery } from "@/api/queries/mix";
import { JOB_ID, mixVersion, session } from "@/testing/fixtures";
import { field, haveChanges, puts, send, serve, theirs, type, user } from "@/testing/mix-server";
import { renderPage } from "@/testing/render";
import { at, server } from "@/testing/server";

import { MixPage } from "./mix-page";

beforeEach(() => {
  sessionStorage.clear();
  haveChanges();
  serve(() => mixVersion());
});

it("sends what was typed on top of the version that was edited", async () => {
  renderPage(<MixPage jobId={JOB_ID} />);
  await type("Weight of code, percent", "70");
  await type("Reason", "  code helps  ");
  await type("Ramp, steps", "100");
  await send();
  expect(await screen.findByText("Weights, compared with v4")).toBeDefined();
  expect(puts).toEqual([
    {
      ifMatch: '"v3"',
      body: {
        weights: { code: 700_000, prose: 180_000, legal: 120_000 },
        reason: "code helps",
        ramp_steps: 100,
      },
    },
  ]);
  expect((await field("Reason")).value).toBe("");
});

it("sends once, however often it is told to", async () => {
  renderPage(<MixPage jobId={JOB_ID} />);
  await type("Weight of code, percent", "70");
  await type("Reason", "code helps");
  await user.keyboard("{Control>}{Enter}{Enter}{/Control}");
  expect(await screen.findByText("Weights, compared with v4")).toBeDefined();
  expect(puts).toHaveLength(1);
});

it("shows what the server foresees before anything is sent", async () => {
  renderPage(<MixPage jobId={JOB_ID} />);
  await type("Weight of code, percent", "70");
  expect(await screen.findByText("code would be read 12.3 times")).toBeDefined();
  expect(await screen.findByText("12.35")).toBeDefined();
  expect(screen.getByText("+20.00 pp")).toBeDefined();
  expect(puts).toEqual([]);
});

it("asks for a reason and for a whole before it sends", async () => {
  renderPage(<MixPage jobId={JOB_ID} />);
  await user.click(await screen.findByRole("switch", { name: "Normalise the rest as I edit" }));
  await type("Weight of code, percent", "70");
  await send();
  expect(await screen.findByText(/Say why/)).toBeDefined();
  await waitFor(async () => expect(document.activeElement).toBe(await field("Reason")));
  expect(screen.getByText(/sum to 120 %/)).toBeDefined();
  expect(puts).toEqual([]);
});

it("shows the three sides of a collision, keeps the edit, and sends it on top once told to", async () => {
  serve(() => theirs);
  renderPage(<MixPage jobId={JOB_ID} />);
  await type("Weight of code, percent", "70");
  await type("Reason", "code helps");
  await send();

  const panel = await screen.findByRole("alert", { name: /bo made v4 while you edited v3/ });
  expect(within(panel).getByText(/more prose/)).toBeDefined();
  const row = within(panel).getByRole("row", { name: /code/ });
  expect(
    within(row)
      .getAllByRole("cell")
      .map((cell) => cell.textContent),
  ).toEqual(["50.00 %", "40.00 %", "70.00 %", "70.00 %"]);
  expect((await field("Weight of code, percent")).value).toBe("70.00");
  expect((await field("Reason")).value).toBe("code helps");

  await user.click(within(panel).getByRole("button", { name: "Keep my weights, on top of v4" }));
  await send();
  await waitFor(() => expect(puts.map(({ ifMatch }) => ifMatch)).toEqual(['"v3"', '"v4"']));
  expect(puts[1]?.body.weights).toEqual(puts[0]?.body.weights);
});

it("drops the edit for theirs when told to", async () => {
  serve(() => theirs);
  renderPage(<MixPage jobId={JOB_ID} />);
  await type("Weight of code, percent", "70");
  await type("Reason", "code helps");
  await send();
  await user.click(await screen.findByRole("button", { name: "Take v4, drop my edit" }));
  expect((await field("Weight of code, percent")).value).toBe("40.00");
  expect((await field("Reason")).value).toBe("");
});

it("follows a newer version while untouched, and warns once touched", async () => {
  const { client } = renderPage(<MixPage jobId={JOB_ID} />);
  await field("Weight of code, percent");
  client.setQueryData(mixQuery(JOB_ID).queryKey, theirs);
  await waitFor(async () => expect((await field("Weight of code, percent")).value).toBe("40.00"));
  expect(screen.queryByRole("alert")).toBeNull();

  await type("Weight of code, percent", "10");
  client.setQueryData(mixQuery(JOB_ID).queryKey, mixVersion({ version: 5, author: "cy" }));
  expect(
    await screen.findByRole("alert", { name: /cy made v5 while you edited v4/ }),
  ).toBeDefined();
});

it("is told of a refusal in the server's words", async () => {
  server.use(
    http.put(at(`/jobs/${JOB_ID}/mix`), () =>
      HttpResponse.json({ status: 403, detail: "this key may only read" }, { status: 403 }),
    ),
  );
  renderPage(<MixPage jobId={JOB_ID} />);
  await type("Weight of code, percent", "70");
  await type("Reason", "code helps");
  await send();
  expect(await screen.findByText("You may not see or do this")).toBeDefined();
  expect(screen.getByText("this key may only read")).toBeDefined();
});

it("takes both sides of a collision when told to: what was given here, the rest as they have it", async () => {
  serve(() => theirs);
  renderPage(<MixPage jobId={JOB_ID} />);
  await type("Weight of code, percent", "70");
  await type("Reason", "code helps");
  await send();
  await user.click(await screen.findByRole("button", { name: "Take both" }));
  expect((await field("Weight of code, percent")).value).toBe("70.00");
  expect((await field("Weight of prose, percent")).value).toBe("20.00");
  expect((await field("Weight of legal, percent")).value).toBe("10.00");
  expect((await field("Reason")).value).toBe("code helps");
});

it("keeps weights, reason and schedule over a reload, for the same person only", async () => {
  const first = renderPage(<MixPage jobId={JOB_ID} />);
  await type("Weight of code, percent", "70");
  await type("Reason", "code helps");
  await user.click(screen.getByRole("radio", { name: "At a step" }));
  await type("First step with the new weights", "5000");
  first.unmount();

  const second = renderPage(<MixPage jobId={JOB_ID} />);
  expect((await field("Weight of code, percent")).value).toBe("70.00");
  expect((await field("Reason")).value).toBe("code helps");
  expect((await field("First step with the new weights")).value).toBe("5000");
  expect(screen.getByText(/Your unsent edit of v3 was kept/)).toBeDefined();
  second.unmount();

  serve(() => mixVersion(), session("bo", "operator"));
  const third = renderPage(<MixPage jobId={JOB_ID} />);
  expect((await field("Weight of code, percent")).value).toBe("50.00");
  third.unmount();

  serve(() => mixVersion());
  renderPage(<MixPage jobId={JOB_ID} />);
  await user.click(await screen.findByRole("button", { name: "Discard" }));
  expect(sessionStorage.length).toBe(0);
});
