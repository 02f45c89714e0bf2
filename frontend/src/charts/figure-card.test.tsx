import { screen, within } from "@testing-library/react";
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
