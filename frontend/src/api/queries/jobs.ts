import { infiniteQueryOptions } from "@tanstack/react-query";

import { api, unwrap } from "../client";
import { pollUnlessLive } from "../connection";
import type { JobState } from "../types";

/** Which jobs to list: all of what is given must hold. Times are ISO 8601, inclusive; a tag is `name` or `name=value`. */
export interface JobsFilter {
  project: string;
  q?: string | undefined;
  state?: JobState | undefined;
  owner?: string | undefined;
  tag?: readonly string[] | undefined;
  createdFrom?: string | undefined;
  createdTo?: string | undefined;
  archived?: boolean | undefined;
}

const PAGE = 50;
/** Lines of throughput gain a point a minute, which no event carries. */
const LINES_MS = 60_000;

/** The jobs of a project, page by page, newest first. */
export const jobsQuery = (filter: JobsFilter) => {
  const { project, q, state, owner, tag, createdFrom, createdTo, archived } = filter;
  const narrowed = {
    ...(q && { q }),
    ...(state && { state }),
    ...(owner && { owner }),
    ...(tag && tag.length > 0 && { tag: [...tag] }),
    ...(createdFrom && { created_from: createdFrom }),
    ...(createdTo && { created_to: createdTo }),
    ...(archived && { archived }),
  };
  return infiniteQueryOptions({
    queryKey: ["jobs", { project, ...narrowed }],
    queryFn: ({ signal, pageParam }) =>
      unwrap(
        api.GET("/api/v1/projects/{project}/jobs", {
          params: {
            path: { project },
            query: { limit: PAGE, ...narrowed, ...(pageParam && { cursor: pageParam }) },
          },
          signal,
        }),
      ),
    initialPageParam: "",
    getNextPageParam: (page) => page.next_cursor,
    refetchInterval: () => pollUnlessLive(5000)() || LINES_MS,
  });
};
