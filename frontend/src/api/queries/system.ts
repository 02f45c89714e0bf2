import { queryOptions } from "@tanstack/react-query";

import { api, unwrap } from "../client";

/** How the service itself is doing; for administrators of the server. Nothing announces it, so it is asked for. */
export const systemQuery = () =>
  queryOptions({
    queryKey: ["system"],
    queryFn: ({ signal }) => unwrap(api.GET("/api/v1/system", { signal })),
    refetchInterval: 3000,
  });
