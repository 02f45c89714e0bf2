import { screen, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { http, HttpResponse } from "msw";
import { expect, it, vi } from "vitest";

import type { JobSummary } from "@/api/types";
import { job, mixVersion } from "@/testing/fixtures";
import { renderPage } from "@/testing/render";
import { at, server } from "@/testing/server";

import { JobsPage } from "./jobs-page";

const pending = mixVersion({ version: 4, life: { ...mixVersion().life, state: "seen" } });

function serve(pages: Record<string, { items: JobSummary[]; next_cursor: string | null }>) {
  const asked: string[] = [];
  server.use(
    http.get(at("/projects"), () =>
      HttpResponse.json({ items: [{ name: "default", created_at: "2026-11-30T09:00:00Z" }] }),
    ),
    http.get(at("/projects/default/jobs"), ({ request }) => {
      const { searchParams } = new URL(request.url);
      asked.push(searchParams.toString());
      return HttpResponse.json(pages[searchParams.get("cursor") ?? ""]);
    }),
  );
  return asked;
}

it("shows a job in one row, its pending change too, and dashes for what is not known", async () => {
  serve({
    "": {
      items: [
        job({ pending_change: pending }),
        job({
          id: "2",
          name: "new",
          state: "waiting",
          step: null,
          tokens_per_s: null,
          data_wait_share: null,
        }),
      ],
      next_cursor: null,
    },
  });
  renderPage(<JobsPage search={{}} onSearch={vi.fn()} />);
  const running = await screen.findByRole("row", { name: /llama-7b/ });
  const texts = within(running)
    .getAllByRole("cell")
    .map((cell) => cell.textContent);
  expect(texts[0]).toBe("running2 of 2 ranks report");
  expect(texts[1]).toBe("1\u202f500/ 10\u202f00015.0 %");
  expect(texts.slice(2, 5)).toEqual(["1.23 M tok/s", "2 / 2", "0.4 % fed"]);
  expect(texts[5]).toBe("v3 in forcev4 seen");
  expect(within(running).getByRole("img").getAttribute("aria-label")).toBe(
    "Mix: code 50.00 %, prose 30.00 %, legal 20.00 %",
  );
  const waiting = screen.getByRole("row", { name: /new/ });
  expect(within(waiting).getAllByText("–").length).toBe(3);
});

it("asks for the next page only when told to", async () => {
  const asked = serve({
    "": { items: [job()], next_cursor: "next" },
    next: { items: [job({ id: "2", name: "older" })], next_cursor: null },
  });
  renderPage(<JobsPage search={{ state: "running" }} onSearch={vi.fn()} />);
  await userEvent.click(await screen.findByRole("button", { name: "Show more" }));
  expect(await screen.findByRole("link", { name: "older" })).toBeDefined();
  expect(screen.queryByRole("button", { name: "Show more" })).toBeNull();
  expect(asked).toEqual(["limit=50&state=running", "limit=50&state=running&cursor=next"]);
});

it("tells an empty project from a filter without a match", async () => {
  serve({ "": { items: [], next_cursor: null } });
  const { unmount } = renderPage(<JobsPage search={{}} onSearch={vi.fn()} />);
  expect(await screen.findByRole("heading", { name: "No job yet" })).toBeDefined();
  unmount();
  renderPage(<JobsPage search={{ q: "x" }} onSearch={vi.fn()} />);
  expect(await screen.findByRole("heading", { name: "No job matches" })).toBeDefined();
});

it("shows a refusal with the request's id, and tries again when told to", async () => {
  serve({ "": { items: [job()], next_cursor: null } });
  server.use(
    http.get(
      at("/projects"),
      () =>
        HttpResponse.json({ detail: "the database is away", request_id: "r-1" }, { status: 503 }),
      { once: true },
    ),
  );
  renderPage(<JobsPage search={{}} onSearch={vi.fn()} />);
  expect(await screen.findByText("the database is away")).toBeDefined();
  expect(screen.getByText("Request r-1")).toBeDefined();
  await userEvent.click(screen.getByRole("button", { name: "Try again" }));
  expect(await screen.findByRole("link", { name: "llama-7b" })).toBeDefined();
});

it("hands on a search once typing rests", async () => {
  serve({ "": { items: [job()], next_cursor: null } });
  const onSearch = vi.fn();
  renderPage(<JobsPage search={{ state: "running" }} onSearch={onSearch} />);
  await userEvent.type(await screen.findByRole("searchbox"), "llama ");
  await vi.waitFor(() =>
    expect(onSearch).toHaveBeenCalledExactlyOnceWith({ q: "llama", state: "running" }),
  );
});
