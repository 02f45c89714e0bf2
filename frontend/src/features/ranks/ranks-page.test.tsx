import { fireEvent, screen, within } from "@testing-library/react";
import { http, HttpResponse } from "msw";
import { beforeEach, expect, it, vi } from "vitest";

import type { RankState } from "@/api/types";
import { job, JOB_ID, rankState } from "@/testing/fixtures";
import { renderPage } from "@/testing/render";
import { at, server } from "@/testing/server";

import { RanksPage } from "./ranks-page";
import type { RanksSearch } from "./ranks-search";

beforeEach(() => {
  vi.spyOn(Element.prototype, "getBoundingClientRect").mockReturnValue({ width: 800 } as DOMRect);
  // jsdom draws nothing; what is drawn is tested by its cells.
  vi.spyOn(HTMLCanvasElement.prototype, "getContext").mockReturnValue(null);
});

function show(ranks: readonly RankState[], search: RanksSearch = {}, numRanks = ranks.length) {
  server.use(
    http.get(at(`/jobs/${JOB_ID}`), () => HttpResponse.json(job({ ranks_total: numRanks }))),
    http.get(at(`/jobs/${JOB_ID}/ranks`), () =>
      HttpResponse.json({ items: ranks, attempt: 1, next_cursor: null }),
    ),
  );
  const onSearch = vi.fn();
  const onOpen = vi.fn();
  renderPage(<RanksPage jobId={JOB_ID} search={search} onSearch={onSearch} onOpen={onOpen} />);
  return { onSearch, onOpen };
}

const RANKS = [0, 1, 2, 3].map((rank) =>
  rankState({ rank, host: `node-${rank}`, step_lag: rank === 2 ? 40 : 0 }),
);

it("says in words what the map shows, and leads to the worst rank", async () => {
  show(RANKS, { metric: "step_lag" }, 6);
  const summary = await screen.findByText(/^Step lag of 4 ranks/);
  expect(summary.textContent).toBe(
    "Step lag of 4 ranks: least 0 steps, median 0 steps, most 40 steps. Worst: rank 2 (40 steps).",
  );
  const link = within(summary).getByRole("link", { name: "rank 2" });
  expect(link.getAttribute("href")).toBe(`/jobs/${JOB_ID}/ranks/2`);
  const legend = screen.getByRole("list", { name: "Legend" });
  expect(legend.textContent).toContain("not reported: 2");
  expect(legend.textContent).toContain("32 steps – 40 steps: 1");
});

it("moves from cell to cell by keys, reads each out, and opens one by Enter", async () => {
  const { onOpen } = show(RANKS, { metric: "step_lag" });
  const map = await screen.findByRole("slider", { name: "Step lag of each rank" });
  expect(map.getAttribute("aria-valuetext")).toBe("rank 0, node-0, 0 steps");
  fireEvent.focus(map);
  fireEvent.keyDown(map, { key: "ArrowRight" });
  fireEvent.keyDown(map, { key: "ArrowRight" });
  expect(map.getAttribute("aria-valuetext")).toBe("rank 2, node-2, 40 steps");
  expect(map.textContent).toContain("Rank 2 · node-2");
  fireEvent.keyDown(map, { key: "Enter" });
  expect(onOpen).toHaveBeenCalledWith(2);
});

it("says that nothing stands out where nothing does, and counts the states", async () => {
  show(RANKS);
  expect((await screen.findByText(/^State of 4 ranks/)).textContent).toBe(
    "State of 4 ranks: 4 live. None stands out.",
  );
});

it("keeps the filter and the metric in the address", async () => {
  const { onSearch } = show(RANKS, { q: "node" });
  fireEvent.change(await screen.findByRole("combobox", { name: "Heat map shows" }), {
    target: { value: "wait_share" },
  });
  expect(onSearch).toHaveBeenCalledWith({ q: "node", metric: "wait_share" });
  fireEvent.change(screen.getByRole("combobox", { name: "State of the ranks" }), {
    target: { value: "live" },
  });
  expect(onSearch).toHaveBeenCalledWith({ q: "node", state: "live" });
});

it("offers the way back from a filter that nothing matches", async () => {
  const { onSearch } = show(RANKS, { state: "lost" });
  expect(await screen.findByRole("heading", { name: "No rank matches" })).toBeDefined();
  fireEvent.click(screen.getByRole("button", { name: "Show all" }));
  expect(onSearch).toHaveBeenCalledWith({});
});

it("says before the first report that there is none", async () => {
  show([]);
  expect(await screen.findByRole("heading", { name: "No rank has reported yet" })).toBeDefined();
});
