import { queryOptions } from "@tanstack/react-query";

import { api, unwrap } from "../client";

/** The projects the reader may see. */
export const projectsQuery = () =>
  queryOptions({
    queryKey: ["projects"],
    queryFn: async ({ signal }) => (await unwrap(api.GET("/api/v1/projects", { signal }))).items,
    staleTime: 60_000,
  });
