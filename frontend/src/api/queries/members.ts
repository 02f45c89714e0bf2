import { queryOptions } from "@tanstack/react-query";

import { api, unwrap } from "../client";
import type { Role } from "../types";

import { everyPage } from "./pages";

/** Who may do what in a project. */
export const membersQuery = (project: string) =>
  queryOptions({
    queryKey: ["members", project],
    queryFn: ({ signal }) =>
      everyPage((cursor) =>
        unwrap(
          api.GET("/api/v1/projects/{project}/members", {
            params: { path: { project }, query: { limit: 200, ...(cursor && { cursor }) } },
            signal,
          }),
        ),
      ),
  });

/** Adds somebody, or changes their role; ApiProblem 404 for an unknown person, 409 for the last admin. */
export const putMember = (project: string, username: string, role: Role) =>
  unwrap(
    api.PUT("/api/v1/projects/{project}/members/{username}", {
      params: { path: { project, username } },
      body: { role },
    }),
  );

/** Takes somebody out; ApiProblem 409 for the last admin. */
export const removeMember = (project: string, username: string) =>
  unwrap(
    api.DELETE("/api/v1/projects/{project}/members/{username}", {
      params: { path: { project, username } },
    }),
  );
