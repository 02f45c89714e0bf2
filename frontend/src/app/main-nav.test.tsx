import { MantineProvider } from "@mantine/core";
import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { createMemoryHistory, RouterProvider } from "@tanstack/react-router";
import { render, screen, within } from "@testing-library/react";
import { http, HttpResponse } from "msw";
import { beforeEach, expect, it } from "vitest";

import { job, session } from "@/testing/fixtures";
import { at, server } from "@/testing/server";

import { makeRouter } from "./router";

const JOB = job({});

/** Each page that stays where it is, with what is marked in the main navigation and in the one inside the page. */
const PAGES: Record<string, readonly [main: string, inside?: string]> = {
  "/jobs": ["Jobs"],
  "/compare": ["Compare"],
  "/jobs/$jobId": ["Jobs", "Overview"],
  "/jobs/$jobId/ranks": ["Jobs", "Ranks"],
  "/jobs/$jobId/ranks/$rank": ["Jobs", "Ranks"],
  "/jobs/$jobId/mix": ["Jobs", "Mix"],
  "/jobs/$jobId/history": ["Jobs", "History"],
  "/jobs/$jobId/trace": ["Jobs", "Trace"],
  "/alerts": ["Alerts", "Alerts"],
  "/alerts/rules": ["Alerts", "Rules"],
  "/settings/$project/members": ["Settings", "Members"],
  "/settings/$project/keys": ["Settings", "API keys"],
  "/settings/$project/webhooks": ["Settings", "Webhooks"],
  "/settings/$project/approval": ["Settings", "Approval"],
  "/settings/$project/retention": ["Settings", "Retention"],
  "/settings/$project/archiving": ["Settings", "Archiving"],
  "/account": ["Settings", "Account"],
  "/server/people": ["Settings", "People"],
  "/server/projects": ["Settings", "Projects"],
  "/system": ["System"],
};
/** These lead on to one of them, hold others, or have no navigation. */
const OTHERS = ["/", "/login", "/settings", "/settings/$project"];

beforeEach(() => {
  const reader = session("ada", "admin");
  server.use(
    http.get(at("/session"), () =>
      HttpResponse.json({ ...reader, user: { ...reader.user, is_admin: true } }),
    ),
    http.get(at("/jobs/:id"), () => HttpResponse.json(JOB)),
    // What else a page asks for does not matter here.
    http.all("*", () => HttpResponse.json({ detail: "not here" }, { status: 404 })),
  );
});

const addressOf = (path: string) =>
  path.replace("$jobId", JOB.id).replace("$project", "default").replace("$rank", "0");

it("knows every page", () => {
  const { routesByPath } = makeRouter(new QueryClient());
  expect(Object.keys(routesByPath).sort()).toEqual([...Object.keys(PAGES), ...OTHERS].sort());
});

it.each(Object.entries(PAGES))("marks one entry on %s, the right one", async (path, marked) => {
  const client = new QueryClient({ defaultOptions: { queries: { retry: false } } });
  const router = makeRouter(client);
  router.update({ history: createMemoryHistory({ initialEntries: [addressOf(path)] }) } as never);
  render(
    <MantineProvider env="test">
      <QueryClientProvider client={client}>
        <RouterProvider router={router} />
      </QueryClientProvider>
    </MantineProvider>,
  );
  const [main, inside] = marked;
  const of = (navigation: HTMLElement) =>
    within(navigation)
      .queryAllByRole("link", { current: "page" })
      .map((link) => link.textContent);
  await screen.findByRole("navigation", { name: "Main" });
  expect(await screen.findByRole("heading", { level: 1 })).toBeDefined();
  const others = screen
    .getAllByRole("navigation")
    .filter((each) => each.getAttribute("aria-label") !== "Main")
    .map(of)
    .filter((names) => names.length > 0);
  expect(of(screen.getByRole("navigation", { name: "Main" }))).toEqual([main]);
  expect(others).toEqual(inside === undefined ? [] : [[inside]]);
});
