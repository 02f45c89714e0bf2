import { infiniteQueryOptions } from "@tanstack/react-query";

import { api, unwrap } from "../client";

/** What to look for in the audit log; what is left out may be anything. Times are ISO 8601. */
export interface AuditFilter {
  job?: string | undefined;
  project?: string | undefined;
  q?: string | undefined;
  actor?: string | undefined;
  action?: string | undefined;
  from?: string | undefined;
  to?: string | undefined;
}

/** The events that a filter finds, newest first, page by page. */
export const auditQuery = (filter: AuditFilter) =>
  infiniteQueryOptions({
    queryKey: ["audit", filter],
    queryFn: ({ signal, pageParam }) => {
      const asked = { ...filter, limit: 50, ...(pageParam && { cursor: pageParam }) };
      const query = Object.fromEntries(Object.entries(asked).filter(([, value]) => value !== ""));
      return unwrap(api.GET("/api/v1/audit", { params: { query }, signal }));
    },
    initialPageParam: "",
    getNextPageParam: (page) => page.next_cursor,
    retry: false,
  });
