import type { QueryClient } from "@tanstack/react-query";
import {
  createRootRouteWithContext,
  createRoute,
  createRouter,
  lazyRouteComponent,
  notFound,
  Outlet,
  redirect,
} from "@tanstack/react-router";

import { sessionQuery } from "@/api/queries/session";
import { LoadingState } from "@/components/page-states";
import { xAxisSearch } from "@/features/job/x-axis-search";
import { jobsSearch } from "@/features/jobs/jobs-search";
import { ranksSearch } from "@/features/ranks/ranks-search";

import { AppShell } from "./app-shell";
import { NotFound } from "./not-found";
import { RouteError } from "./route-error";
import { LoginRoute } from "./routes/login-route";

const root = createRootRouteWithContext<{ client: QueryClient }>()({ component: Outlet });

const login = createRoute({
  getParentRoute: () => root,
  path: "/login",
  validateSearch: (search: Record<string, unknown>): { next?: string } =>
    typeof search.next === "string" ? { next: search.next } : {},
  component: LoginRoute,
});

const shell = createRoute({
  getParentRoute: () => root,
  id: "shell",
  beforeLoad: async ({ context, location }) => {
    const session = await context.client.query({ ...sessionQuery(), staleTime: "static" });
    if (session === null) throw redirect({ to: "/login", search: { next: location.href } });
  },
  component: AppShell,
});

const start = createRoute({
  getParentRoute: () => shell,
  path: "/",
  beforeLoad: () => {
    throw redirect({ to: "/jobs" });
  },
});

const jobs = createRoute({
  getParentRoute: () => shell,
  path: "/jobs",
  validateSearch: jobsSearch,
  component: lazyRouteComponent(() => import("./routes/jobs-route"), "JobsRoute"),
});

const job = createRoute({
  getParentRoute: () => shell,
  path: "/jobs/$jobId",
  component: lazyRouteComponent(() => import("./routes/job-route"), "JobRoute"),
});

const overview = createRoute({
  getParentRoute: () => job,
  path: "/",
  validateSearch: xAxisSearch,
  component: lazyRouteComponent(() => import("./routes/overview-route"), "OverviewRoute"),
});

const ranks = createRoute({
  getParentRoute: () => job,
  path: "/ranks",
  validateSearch: ranksSearch,
  component: lazyRouteComponent(() => import("./routes/ranks-route"), "RanksRoute"),
});

const rank = createRoute({
  getParentRoute: () => job,
  path: "/ranks/$rank",
  beforeLoad: ({ params }) => {
    if (!/^\d{1,6}$/.test(params.rank)) throw notFound();
  },
  validateSearch: xAxisSearch,
  component: lazyRouteComponent(() => import("./routes/rank-route"), "RankRoute"),
});

const mix = createRoute({
  getParentRoute: () => job,
  path: "/mix",
  component: lazyRouteComponent(() => import("./routes/mix-route"), "MixRoute"),
});

const history = createRoute({
  getParentRoute: () => job,
  path: "/history",
  component: lazyRouteComponent(() => import("./routes/history-route"), "HistoryRoute"),
});

const routeTree = root.addChildren([
  login,
  shell.addChildren([start, jobs, job.addChildren([overview, ranks, rank, mix, history])]),
]);

/** The pages and their addresses; every page but the login asks for a session first. */
export const makeRouter = (client: QueryClient) =>
  createRouter({
    routeTree,
    context: { client },
    defaultPreload: "intent",
    defaultPendingComponent: () => <LoadingState label="Loading the page" />,
    defaultErrorComponent: RouteError,
    defaultNotFoundComponent: NotFound,
    scrollRestoration: true,
  });

declare module "@tanstack/react-router" {
  interface Register {
    router: ReturnType<typeof makeRouter>;
  }
}
