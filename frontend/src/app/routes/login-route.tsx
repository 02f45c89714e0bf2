import { useQueryClient } from "@tanstack/react-query";
import { getRouteApi, useRouter } from "@tanstack/react-router";

import { sessionQuery } from "@/api/queries/session";
import type { Session } from "@/api/types";
import { LoginPage } from "@/features/login/login-page";
import { nextPath } from "@/lib/next-path";

const route = getRouteApi("/login");

/** The login; goes on to the page that was asked for, and forgets what an earlier reader saw. */
export function LoginRoute() {
  const { next } = route.useSearch();
  const client = useQueryClient();
  const router = useRouter();
  const enter = (session: Session) => {
    client.clear();
    client.setQueryData(sessionQuery().queryKey, session);
    router.history.push(nextPath(next));
  };
  return <LoginPage next={nextPath(next)} onLogin={enter} />;
}
