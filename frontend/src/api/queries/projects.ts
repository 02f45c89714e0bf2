import { queryOptions } from "@tanstack/react-query";

import { api, unwrap } from "../client";
import type { ProjectSettingsPatch } from "../types";

import { everyPage } from "./pages";

/** The projects the reader may see. */
export const projectsQuery = () =>
  queryOptions({
    queryKey: ["projects"],
    queryFn: async ({ signal }) => (await unwrap(api.GET("/api/v1/projects", { signal }))).items,
    staleTime: 60_000,
  });

/** The archived projects the reader may see. */
export const archivedProjectsQuery = () =>
  queryOptions({
    queryKey: ["projects", "archived"],
    queryFn: ({ signal }) =>
      everyPage((cursor) =>
        unwrap(
          api.GET("/api/v1/projects", {
            params: { query: { archived: true, limit: 500, ...(cursor && { cursor }) } },
            signal,
          }),
        ),
      ),
    staleTime: 60_000,
  });

/** Makes a project; ApiProblem 409 when the name is taken. */
export const createProject = (name: string) =>
  unwrap(api.POST("/api/v1/projects", { body: { name } }));

/** Archives a project, or restores it. */
export const archiveProject = (project: string, archived: boolean) =>
  unwrap(
    api.PATCH("/api/v1/projects/{project}", { params: { path: { project } }, body: { archived } }),
  );

/** How a project is run, and what the server's settings say for every project. */
export const projectSettingsQuery = (project: string) =>
  queryOptions({
    queryKey: ["project-settings", project],
    queryFn: ({ signal }) =>
      unwrap(
        api.GET("/api/v1/projects/{project}/settings", { params: { path: { project } }, signal }),
      ),
  });

/** Changes how a project is run. */
export const changeProjectSettings = (project: string, body: ProjectSettingsPatch) =>
  unwrap(api.PATCH("/api/v1/projects/{project}/settings", { params: { path: { project } }, body }));
