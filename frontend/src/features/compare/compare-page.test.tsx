import { screen, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { http, HttpResponse } from "msw";
import { beforeEach, expect, it, vi } from "vitest";

import type { Figure } from "@/api/types";
import { job } from "@/testing/fixtures";
import { renderPage } from "@/testing/render";
import { at, server } from "@/testing/server";

import { ComparePage } from "./compare-page";

const id = (number: number) => `0b7c1a4e-9d57-4a3f-8f33-${String(number).padStart(12, "0")}`;
const jobs = [
  job({ id: id(1), name: "small" }),
  job({ id: id(2), name: "<b>large</b>", seq_len: 2048 }),
];

function figure(name: Figure["name"]): Figure {
  return {
    name,
    title: `Figure ${name}`,
    description: "What it shows.",
    figure: { data: [], layout: {}, config: {} },
    table: { columns: [{ key: "x", label: "step", unit: "" }], rows: [] },
    extent: null,
    marks: [],
  };
}

let asked: URL[];

beforeEach(() => {
  asked = [];
  server.use(
    http.get(at("/jobs/:id"), ({ params }) => {
      const found = jobs.find((each) => each.id === params.id);
      return found
        ? HttpResponse.json(found)
        : HttpResponse.json({ detail: `no job '${String(params.id)}'` }, { status: 404 });
    }),
    http.get(at("/jobs/:id/comparison/:metric"), ({ request }) => {
      asked.push(new URL(request.url));
      return HttpResponse.json(figure("compare-loss"));
    }),
  );
});

it("shows the jobs, the charts of those that may be seen, and says so of one that may not", async () => {
  const onSearch = vi.fn();
  const search = { jobs: [id(1), id(3), id(2)].join(",") };
  renderPage(<ComparePage search={search} onSearch={onSearch} />);
  expect(await screen.findByRole("link", { name: "<b>large</b>" })).toBeDefined();
  expect(await screen.findByText(/no such job, or you are no member/)).toBeDefined();
  await vi.waitFor(() => expect(asked).toHaveLength(5));
  expect(asked.every((url) => url.pathname.includes(id(1)))).toBe(true);
  expect(asked.map((url) => url.searchParams.getAll("with"))).toEqual(Array(5).fill([id(2)]));
  const charts = asked.map((url) => [
    url.pathname.split("/").at(-1),
    url.searchParams.get("source"),
  ]);
  expect(charts.sort()).toEqual([
    ["loss", null],
    ["loss", "code"],
    ["share", "code"],
    ["tokens_per_s", null],
    ["wait_share", null],
  ]);
  await userEvent.click(
    screen.getByRole("button", { name: `Take ${id(3)} out of the comparison` }),
  );
  expect(onSearch).toHaveBeenCalledWith({ jobs: [id(1), id(2)].join(",") });
});

it("shows the rows that differ first, and all when asked", async () => {
  renderPage(<ComparePage search={{ jobs: `${id(1)},${id(2)}` }} onSearch={vi.fn()} />);
  const config = await screen.findByRole("region", { name: "Configuration" });
  const rows = () =>
    within(config)
      .getAllByRole("rowheader")
      .map((cell) => cell.textContent);
  expect(rows()).toEqual(["Sequence length (tokens)", "Tokens a step"]);
  await userEvent.click(within(config).getByRole("switch"));
  expect(rows().length).toBeGreaterThan(10);
  expect(rows().slice(0, 2)).toEqual(["Sequence length (tokens)", "Tokens a step"]);
  expect(screen.getByText(/No source differs: all 3 are the same/)).toBeDefined();
});

it("draws one figure when asked for one, over the time since start", async () => {
  const search = { jobs: `${id(1)},${id(2)}`, metric: "wait_share", x: "elapsed" } as const;
  const onSearch = vi.fn();
  renderPage(<ComparePage search={search} onSearch={onSearch} />);
  await vi.waitFor(() => expect(asked).toHaveLength(1));
  expect(asked[0]?.searchParams.get("x")).toBe("elapsed");
  await userEvent.click(await screen.findByRole("radio", { name: "Step" }));
  expect(onSearch).toHaveBeenCalledWith({ jobs: search.jobs, metric: "wait_share" });
});

it("shares a part of the axis, which the address has, and leaves it with another axis", async () => {
  const search = { jobs: id(1), metric: "loss", x: "tokens", from: 1000, to: 2000 } as const;
  const onSearch = vi.fn();
  renderPage(<ComparePage search={search} onSearch={onSearch} />);
  await vi.waitFor(() => expect(asked.length).toBeGreaterThan(0));
  const params = asked.map(({ searchParams }) => Object.fromEntries(searchParams));
  expect(params.every(({ x, from, to }) => `${x} ${from} ${to}` === "tokens 1000 2000")).toBe(true);
  expect(await screen.findByText(/^1.00 k to 2.00 k tokens/)).toBeDefined();
  await userEvent.click(screen.getByRole("button", { name: "Show all" }));
  expect(onSearch).toHaveBeenLastCalledWith({ jobs: id(1), metric: "loss", x: "tokens" });
  await userEvent.click(screen.getByRole("radio", { name: "Time since start" }));
  expect(onSearch).toHaveBeenLastCalledWith({ jobs: id(1), metric: "loss", x: "elapsed" });
});

it("leads to the list while nothing is chosen, and says what of an address it leaves out", async () => {
  const { unmount } = renderPage(<ComparePage search={{}} onSearch={vi.fn()} />);
  expect(await screen.findByRole("heading", { name: "No job chosen" })).toBeDefined();
  unmount();
  renderPage(<ComparePage search={{ jobs: `${id(1)},nonsense` }} onSearch={vi.fn()} />);
  expect(await screen.findByText(/1 part of the address left out/)).toBeDefined();
  expect(await screen.findByText(/alone has nothing to differ from/)).toBeDefined();
});
