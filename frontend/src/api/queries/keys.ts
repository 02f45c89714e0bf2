import { queryOptions } from "@tanstack/react-query";

import { api, unwrap } from "../client";
import type { KeyCreate } from "../types";

import { everyPage } from "./pages";

/** The project's keys that are not revoked, newest first, without the keys themselves. */
export const keysQuery = (project: string) =>
  queryOptions({
    queryKey: ["keys", project],
    queryFn: ({ signal }) =>
      everyPage((cursor) =>
        unwrap(
          api.GET("/api/v1/projects/{project}/keys", {
            params: { path: { project }, query: { limit: 200, ...(cursor && { cursor }) } },
            signal,
          }),
        ),
      ),
  });

/** Makes a key; the answer is the only one that has it. */
export const createKey = (project: string, body: KeyCreate) =>
  unwrap(api.POST("/api/v1/projects/{project}/keys", { params: { path: { project } }, body }));

/** Revokes a key at once. */
export const revokeKey = (project: string, id: string) =>
  unwrap(
    api.DELETE("/api/v1/projects/{project}/keys/{key_id}", {
      params: { path: { project, key_id: id } },
    }),
  );
