import { queryOptions } from "@tanstack/react-query";

import { api, unwrap } from "../client";
import { setCsrfToken } from "../csrf-token";
import { hasStatus } from "../problem";
import type { Session } from "../types";

function keep(session: Session): Session {
  setCsrfToken(session.csrf_token);
  return session;
}

/** Who is logged in; null for nobody. */
export const sessionQuery = () =>
  queryOptions({
    queryKey: ["session"],
    queryFn: async (): Promise<Session | null> => {
      try {
        return keep(await unwrap(api.GET("/api/v1/session")));
      } catch (error) {
        if (hasStatus(error, 401)) return null;
        throw error;
      }
    },
    staleTime: 5 * 60_000,
  });

/** How people can log in besides a name and a password. */
export const signInMethodsQuery = () =>
  queryOptions({
    queryKey: ["sign-in-methods"],
    queryFn: () => unwrap(api.GET("/api/v1/session/methods")),
    staleTime: Infinity,
  });

/** Logs in; throws ApiProblem 401 for a wrong name or password and 429 after too many tries. */
export const logIn = async (username: string, password: string): Promise<Session> =>
  keep(await unwrap(api.POST("/api/v1/session", { body: { username, password } })));

/** Ends the session here and on the server; throws when the server could not be told. */
export async function logOut(): Promise<void> {
  await unwrap(api.DELETE("/api/v1/session"));
  setCsrfToken(null);
}
