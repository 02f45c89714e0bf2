import { queryOptions } from "@tanstack/react-query";

import { api, unwrap } from "../client";
import type { UserCreate, UserPatch } from "../types";

import { everyPage } from "./pages";

/** Everybody who can sign in; for administrators of the server. */
export const usersQuery = () =>
  queryOptions({
    queryKey: ["users"],
    queryFn: ({ signal }) =>
      everyPage((cursor) =>
        unwrap(
          api.GET("/api/v1/users", {
            params: { query: { limit: 200, ...(cursor && { cursor }) } },
            signal,
          }),
        ),
      ),
  });

/** Adds somebody. */
export const createUser = (body: UserCreate) => unwrap(api.POST("/api/v1/users", { body }));

/** Changes what `body` names; ApiProblem 409 for the last administrator. */
export const changeUser = (username: string, body: UserPatch) =>
  unwrap(api.PATCH("/api/v1/users/{username}", { params: { path: { username } }, body }));

/** Sets one's own password and ends one's other sessions. */
export const changePassword = (current: string, next: string) =>
  unwrap(
    api.PUT("/api/v1/me/password", { body: { current_password: current, new_password: next } }),
  );

/** Ends one's own sessions everywhere else. */
export const signOutOthers = () =>
  unwrap(api.DELETE("/api/v1/me/sessions", { params: { query: { others: true } } }));
