import { screen, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { http, HttpResponse } from "msw";
import { expect, it, vi } from "vitest";

import type { JobListed, Session } from "@/api/types";
import { JOB_ID, listedJob as job, mixVersion } from "@/testing/fixtures";
import { renderPage } from "@/testing/render";
import { at, server } from "@/testing/server";

import { JobsPage } from "./jobs-page";

const pending = mixVersion({ version: 4, life: { ...mixVersion().life, state: "seen" } });

/** Who reads: an operator of the project, or somebody who may only look. */
function read(role: "operator" | "viewer" = "operator") {
  const session: Session = {
    csrf_token: "t",
    user: { username: "ada", is_admin: false, roles: { default: role } },
  };
  server.use(http.get(at("/session"), () => HttpResponse.json(session)));
}

function serve(pages: Record<string, { items: JobListed[]; next_cursor: string | null }>) {
  const asked: string[] = [];
  read();
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
        job({ pending_change: pending, changes_waiting: 2 }),
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
  expect(texts[1]).toBe("running2 of 2 ranks report");
  expect(texts[2]).toBe("1\u202f500/ 10\u202f00015.0 %");
  expect(texts[3]).toMatch(/^1\.23 M tok\/s/);
  expect(texts.slice(4, 6)).toEqual(["2 / 2", "0.4 % fed"]);
  expect(texts[6]).toBe("v3 in forcev4 seen2 changes wait");
  expect(texts[7]).toMatch(/^ada\d/);
  const pictures = within(running).getAllByRole("img");
  expect(pictures.map((picture) => picture.getAttribute("aria-label"))).toEqual([
    "Tokens/s over the last 3 minutes of the run: 1.00 M to 1.23 M",
    "Mix: code 50.00 %, prose 30.00 %, legal 20.00 %",
  ]);
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
  await userEvent.click(await screen.findByRole("searchbox", { name: "Search jobs by name" }));
  await userEvent.paste("llama ");
  await vi.waitFor(() =>
    expect(onSearch).toHaveBeenCalledExactlyOnceWith({ q: "llama", state: "running" }),
  );
});

it("puts every filter into the request, days as moments of the reader's zone", async () => {
  const asked = serve({ "": { items: [job()], next_cursor: null } });
  const search = {
    owner: "ada",
    tag: ["team=x", "keep"],
    from: "2026-11-01",
    archived: true,
  } as const;
  renderPage(<JobsPage search={{ ...search, tag: [...search.tag] }} onSearch={vi.fn()} />);
  await screen.findByRole("link", { name: "llama-7b" });
  const sent = new URLSearchParams(asked[0]);
  expect(sent.getAll("tag")).toEqual(["team=x", "keep"]);
  expect([sent.get("owner"), sent.get("archived")]).toEqual(["ada", "true"]);
  expect(Date.parse(sent.get("created_from") ?? "")).toBe(new Date(2026, 10, 1).getTime());
});

it("chooses two to ten jobs to compare, and says when there is room for no more", async () => {
  const items = Array.from({ length: 11 }, (_, n) => job({ id: `id-${n}`, name: `job-${n}` }));
  serve({ "": { items, next_cursor: null } });
  renderPage(<JobsPage search={{}} onSearch={vi.fn()} />);
  await userEvent.click(await screen.findByRole("checkbox", { name: "Compare job-0" }));
  expect(screen.getByText("1 job chosen; choose another one to compare")).toBeDefined();
  for (let n = 1; n < 10; n += 1)
    await userEvent.click(screen.getByRole("checkbox", { name: `Compare job-${n}` }));
  const link = screen.getByRole("link", { name: "Compare 10 jobs" });
  expect(link.getAttribute("href")).toContain("id-0%2Cid-1%2Cid-2");
  const last = screen.getByRole("checkbox", { name: "Compare job-10" });
  expect((last as HTMLInputElement).disabled).toBe(true);
  await userEvent.click(screen.getByRole("button", { name: "Choose none" }));
  expect(screen.queryByRole("region", { name: "Chosen jobs" })).toBeNull();
  expect((last as HTMLInputElement).disabled).toBe(false);
});

it("saves tags as they were written, and keeps the field open with the reason when refused", async () => {
  serve({ "": { items: [job({ tags: { team: "x" } })], next_cursor: null } });
  const sent: unknown[] = [];
  server.use(
    http.patch(at(`/jobs/${JOB_ID}`), async ({ request }) => {
      sent.push(await request.json());
      return sent.length === 1
        ? HttpResponse.json({ detail: "the project is archived" }, { status: 409 })
        : HttpResponse.json(job());
    }),
  );
  renderPage(<JobsPage search={{}} onSearch={vi.fn()} />);
  await userEvent.click(await screen.findByRole("button", { name: "Edit tags: llama-7b" }));
  const field = screen.getByRole("textbox", { name: "Tags of llama-7b" });
  expect((field as HTMLInputElement).value).toBe("team=x");
  await userEvent.clear(field);
  await userEvent.type(field, "team=y, keep{Enter}");
  expect(await screen.findByText("the project is archived")).toBeDefined();
  await userEvent.click(screen.getByRole("button", { name: "Save" }));
  await vi.waitFor(() => expect(screen.queryByRole("textbox", { name: /^Tags of/ })).toBeNull());
  expect(sent).toEqual([{ tags: { team: "y", keep: "" } }, { tags: { team: "y", keep: "" } }]);
});

it("archives and restores", async () => {
  serve({
    "": { items: [job(), job({ id: "2", name: "old", archived: true })], next_cursor: null },
  });
  const sent: unknown[] = [];
  server.use(
    http.patch(at("/jobs/:id"), async ({ request, params }) => {
      sent.push([params.id, await request.json()]);
      return HttpResponse.json(job());
    }),
  );
  renderPage(<JobsPage search={{}} onSearch={vi.fn()} />);
  await userEvent.click(await screen.findByRole("button", { name: "Archive llama-7b" }));
  await userEvent.click(screen.getByRole("button", { name: "Restore old" }));
  await vi.waitFor(() =>
    expect(sent).toEqual([
      [JOB_ID, { archived: true }],
      ["2", { archived: false }],
    ]),
  );
});

it("tells a viewer who may change what, instead of buttons that don't work", async () => {
  serve({ "": { items: [job({ tags: { team: "x" } })], next_cursor: null } });
  read("viewer");
  renderPage(<JobsPage search={{}} onSearch={vi.fn()} />);
  expect(await screen.findByText(/Operators of the project edit tags and archive/)).toBeDefined();
  expect(screen.getByRole("link", { name: "team=x" })).toBeDefined();
  expect(screen.queryByRole("button", { name: /Archive|tags:/ })).toBeNull();
});
