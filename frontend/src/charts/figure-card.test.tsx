import { act, screen, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { http, HttpResponse } from "msw";
import { afterEach, expect, it, vi } from "vitest";

import type { Figure } from "@/api/types";
import { JOB_ID } from "@/testing/fixtures";
import { renderPage } from "@/testing/render";
import { at, server } from "@/testing/server";

import { FigureCard } from "./figure-card";

const loader = vi.hoisted(() => ({ loadPlotly: vi.fn<() => Promise<never>>() }));
vi.mock("./load-plotly", () => ({ ...loader, whenLoaded: () => undefined }));

const FIGURE: Figure = {
  name: "loss",
  title: "Loss by source",
  description: "Last: code 2.1.",
  figure: { data: [{ type: "scatter", x: [1], y: [2.1] }], layout: {}, config: {} },
  table: {
    columns: [
      { key: "x", label: "step", unit: "" },
      { key: "code", label: "code", unit: "nats" },
    ],
    rows: [
      [1204, 2.123456789],
      [1205, null],
    ],
  },
  extent: { low: 1204, high: 1205 },
  marks: [],
};

function show(figure: Figure) {
  server.use(
    http.get(at(`/jobs/${JOB_ID}/figures/loss`), ({ request }) => {
      const { searchParams } = new URL(request.url);
      expect(searchParams.get("theme")).toBe("light");
      return HttpResponse.json(figure);
    }),
  );
  renderPage(<FigureCard jobId={JOB_ID} jobName="run" name="loss" x="step" />);
}

afterEach(() => loader.loadPlotly.mockReset());

it("shows the numbers of the chart as a table, with units, six digits and a dash for none", async () => {
  loader.loadPlotly.mockReturnValue(new Promise(() => undefined));
  show(FIGURE);
  expect(await screen.findByRole("img", { name: "Loss by source. Last: code 2.1." })).toBeDefined();
  await userEvent.click(screen.getByText("Table"));
  const region = screen.getByRole("region", { name: "Loss by source, as a table" });
  const rows = within(region).getAllByRole("row");
  expect(rows.map((row) => row.textContent)).toEqual([
    "stepcode nats",
    "1\u202f2042.12346",
    "1\u202f205–",
  ]);
});

it("still has the numbers when the picture can't be drawn", async () => {
  loader.loadPlotly.mockRejectedValue(new Error("the bundle is gone"));
  show(FIGURE);
  expect(await screen.findByText(/could not be drawn; its numbers are in the table/)).toBeDefined();
  await userEvent.click(screen.getByText("Table"));
  expect(screen.getByText("2.12346")).toBeDefined();
});

it("says when nothing was reported yet, without loading anything to draw it", async () => {
  show({ ...FIGURE, table: { ...FIGURE.table, rows: [] } });
  expect(await screen.findByText("Nothing reported yet.")).toBeDefined();
  expect(loader.loadPlotly).not.toHaveBeenCalled();
});

/** Plotly as far as the card knows it; `say` is what a reader's click does. */
function fakePlotly() {
  const listeners = new Map<string, (at: unknown) => void>();
  const drawn: { layout: object }[] = [];
  const plotly = {
    react: (_element: HTMLElement, _data: unknown, layout: object) => {
      drawn.push({ layout });
      const on = (event: string, listener: (at: unknown) => void) =>
        void listeners.set(event, listener);
      return Promise.resolve({ on });
    },
    purge: () => undefined,
    Fx: { hover: () => undefined, unhover: () => undefined },
    Plots: { resize: () => undefined },
  };
  const say = async (event: string, at: unknown) => {
    await vi.waitFor(() => expect(listeners.has(event)).toBe(true));
    act(() => listeners.get(event)?.(at));
  };
  return { plotly, say, drawn };
}

it("leads from a point to its step's trace, and from marks that share a label to their records", async () => {
  const { plotly, say } = fakePlotly();
  loader.loadPlotly.mockResolvedValue(plotly as never);
  const marks = [
    { kind: "mix", number: 4, x: 1200, label: 0, about: "mix version 4 from step 1200" },
    { kind: "attempt", number: 2, x: 1201, label: 0, about: "attempt 2, resumed from step 1201" },
  ] as const;
  const drawn = { ...FIGURE.figure, data: [{ type: "scatter", x: [1204], y: [2.1] }] };
  show({ ...FIGURE, figure: drawn, marks: [...marks] });
  await screen.findByRole("img", { name: "Loss by source. Last: code 2.1." });
  await say("plotly_click", { points: [{ curveNumber: 0, pointIndex: 0 }] });
  const trace = await screen.findByRole("link", { name: /^Trace step 1\s204$/ });
  expect(trace.getAttribute("href")).toBe(`/jobs/${JOB_ID}/trace?step=1204`);

  await say("plotly_clickannotation", { index: 0 });
  const links = await screen.findAllByRole("link", { name: /^(mix|attempt)/ });
  expect(links.map((link) => link.getAttribute("href"))).toEqual([
    `/jobs/${JOB_ID}/history#version-4`,
    `/jobs/${JOB_ID}#attempt-2`,
  ]);
  await userEvent.click(screen.getByText("Table"));
  const cell = screen.getByRole("link", { name: /^Trace step 1\s205$/ });
  expect(cell.getAttribute("href")).toBe(`/jobs/${JOB_ID}/trace?step=1205`);
});

it("draws the part that was dragged over, and all again after a double click", async () => {
  const { plotly, say, drawn } = fakePlotly();
  loader.loadPlotly.mockResolvedValue(plotly as never);
  show(FIGURE);
  await say("plotly_relayout", { "xaxis.range[0]": 1204.2, "xaxis.range[1]": 1204.8 });
  const axis = () => (drawn.at(-1)?.layout as { xaxis: object }).xaxis;
  await vi.waitFor(() => expect(axis()).toMatchObject({ range: [1204.2, 1204.8] }));
  await say("plotly_doubleclick", null);
  await vi.waitFor(() => expect(axis()).toMatchObject({ autorange: true }));
});
