import { queryOptions } from "@tanstack/react-query";

import { api, unwrap } from "../client";

/** How a project is run: whether changes of the mix need a second person. */
export const projectSettingsQuery = (project: string) =>
  queryOptions({
    queryKey: ["project-settings", project],
    queryFn: ({ signal }) =>
      unwrap(
        api.GET("/api/v1/projects/{project}/settings", { params: { path: { project } }, signal }),
      ),
    staleTime: 30_000,
  });
