import type { QueryClient } from "@tanstack/react-query";
import {
  createRoute,
  createRouter,
  lazyRouteComponent,
  notFound,
  redirect,
} from "@tanstack/react-router";

import { LoadingState } from "@/components/page-states";
import { compareSearch } from "@/features/compare/compare-search";
import { historySearch } from "@/features/history/history-search";
import { axisSearch, chartsSearch } from "@/features/job/charts-search";
import { jobsSearch } from "@/features/jobs/jobs-search";
import { ranksSearch } from "@/features/ranks/ranks-search";
import { traceSearch } from "@/features/trace/trace-search";

import { adminRoutes } from "./admin-routes";
import { NotFound } from "./not-found";
import { RouteError } from "./route-error";
import { LoginRoute } from "./routes/login-route";
import { root, shell } from "./shell-route";

const login = createRoute({
  getParentRoute: () => root,
  path: "/login",
  validateSearch: (search: Record<string, unknown>): { next?: string } =>
    typeof search.next === "string" ? { next: search.next } : {},
  component: LoginRoute,
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

const compare = createRoute({
  getParentRoute: () => shell,
  path: "/compare",
  validateSearch: compareSearch,
  component: lazyRouteComponent(() => import("./routes/compare-route"), "CompareRoute"),
});

const job = createRoute({
  getParentRoute: () => shell,
  path: "/jobs/$jobId",
  component: lazyRouteComponent(() => import("./routes/job-route"), "JobRoute"),
});

const overview = createRoute({
  getParentRoute: () => job,
  path: "/",
  validateSearch: chartsSearch,
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
  validateSearch: axisSearch,
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
  validateSearch: historySearch,
  component: lazyRouteComponent(() => import("./routes/history-route"), "HistoryRoute"),
});

const trace = createRoute({
  getParentRoute: () => job,
  path: "/trace",
  validateSearch: traceSearch,
  component: lazyRouteComponent(() => import("./routes/trace-route"), "TraceRoute"),
});

const routeTree = root.addChildren([
  login,
  shell.addChildren([
    start,
    jobs,
    compare,
    job.addChildren([overview, ranks, rank, mix, history, trace]),
    ...adminRoutes,
  ]),
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
