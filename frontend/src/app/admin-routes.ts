import { createRoute, lazyRouteComponent, redirect } from "@tanstack/react-router";

import { projectsQuery } from "@/api/queries/projects";
import { alertsSearch, rulesSearch } from "@/features/alerts/alerts-search";

import { shell } from "./shell-route";

const settingsPages = () => import("./routes/settings-routes");
const alertPages = () => import("./routes/alerts-routes");

const alerts = createRoute({
  getParentRoute: () => shell,
  path: "/alerts",
  validateSearch: alertsSearch,
  component: lazyRouteComponent(alertPages, "AlertsRoute"),
});

const rules = createRoute({
  getParentRoute: () => shell,
  path: "/alerts/rules",
  validateSearch: rulesSearch,
  component: lazyRouteComponent(alertPages, "RulesRoute"),
});

const settings = createRoute({
  getParentRoute: () => shell,
  path: "/settings",
  beforeLoad: async ({ context }) => {
    const [first] = await context.client.query(projectsQuery());
    if (first === undefined) throw redirect({ to: "/account" });
    throw redirect({ to: "/settings/$project/members", params: { project: first.name } });
  },
});

const project = createRoute({
  getParentRoute: () => shell,
  path: "/settings/$project",
  component: lazyRouteComponent(settingsPages, "ProjectSettingsRoute"),
});

const projectStart = createRoute({
  getParentRoute: () => project,
  path: "/",
  beforeLoad: ({ params }) => {
    throw redirect({ to: "/settings/$project/members", params });
  },
});

const members = createRoute({
  getParentRoute: () => project,
  path: "/members",
  component: lazyRouteComponent(settingsPages, "MembersRoute"),
});

const keys = createRoute({
  getParentRoute: () => project,
  path: "/keys",
  component: lazyRouteComponent(settingsPages, "KeysRoute"),
});

const webhooks = createRoute({
  getParentRoute: () => project,
  path: "/webhooks",
  component: lazyRouteComponent(settingsPages, "WebhooksRoute"),
});

const approval = createRoute({
  getParentRoute: () => project,
  path: "/approval",
  component: lazyRouteComponent(settingsPages, "ApprovalRoute"),
});

const retention = createRoute({
  getParentRoute: () => project,
  path: "/retention",
  component: lazyRouteComponent(settingsPages, "RetentionRoute"),
});

const archiving = createRoute({
  getParentRoute: () => project,
  path: "/archiving",
  component: lazyRouteComponent(settingsPages, "ArchivingRoute"),
});

const others = createRoute({
  getParentRoute: () => shell,
  id: "other-settings",
  component: lazyRouteComponent(settingsPages, "OtherSettingsRoute"),
});

const account = createRoute({
  getParentRoute: () => others,
  path: "/account",
  component: lazyRouteComponent(settingsPages, "AccountRoute"),
});

const people = createRoute({
  getParentRoute: () => others,
  path: "/server/people",
  component: lazyRouteComponent(settingsPages, "PeopleRoute"),
});

const serverProjects = createRoute({
  getParentRoute: () => others,
  path: "/server/projects",
  component: lazyRouteComponent(settingsPages, "ServerProjectsRoute"),
});

const system = createRoute({
  getParentRoute: () => shell,
  path: "/system",
  component: lazyRouteComponent(() => import("./routes/system-route"), "SystemRoute"),
});

/** Alerts, settings and the state of the service. */
export const adminRoutes = [
  alerts,
  rules,
  settings,
  project.addChildren([projectStart, members, keys, webhooks, approval, retention, archiving]),
  others.addChildren([account, people, serverProjects]),
  system,
] as const;
