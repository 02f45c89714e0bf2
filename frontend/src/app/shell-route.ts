import type { QueryClient } from "@tanstack/react-query";
import { createRootRouteWithContext, createRoute, Outlet, redirect } from "@tanstack/react-router";

import { sessionQuery } from "@/api/queries/session";

import { AppShell } from "./app-shell";

/** Above every page. */
export const root = createRootRouteWithContext<{ client: QueryClient }>()({ component: Outlet });

/** Above every page but the login: asks for a session first. */
export const shell = createRoute({
  getParentRoute: () => root,
  id: "shell",
  beforeLoad: async ({ context, location }) => {
    const session = await context.client.query({ ...sessionQuery(), staleTime: "static" });
    if (session === null) throw redirect({ to: "/login", search: { next: location.href } });
  },
  component: AppShell,
});
