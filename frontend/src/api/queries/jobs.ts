import { infiniteQueryOptions } from "@tanstack/react-query";

import { api, unwrap } from "../client";
import { pollUnlessLive } from "../connection";
import type { JobState } from "../types";

/** Which jobs to list: a part of the name and a state narrow it. */
export interface JobsFilter {
  project: string;
  q?: string | undefined;
  state?: JobState | undefined;
}

const PAGE = 50;

/** The jobs of a project, page by page, newest first. */
export const jobsQuery = ({ project, q, state }: JobsFilter) =>
  infiniteQueryOptions({
    queryKey: ["jobs", { project, q: q ?? "", state: state ?? "" }],
    queryFn: ({ signal, pageParam }) =>
      unwrap(
        api.GET("/api/v1/projects/{project}/jobs", {
          params: {
            path: { project },
            query: {
              limit: PAGE,
              ...(q && { q }),
              ...(state && { state }),
              ...(pageParam && { cursor: pageParam }),
            },
          },
          signal,
        }),
      ),
    initialPageParam: "",
    getNextPageParam: (page) => page.next_cursor,
    refetchInterval: pollUnlessLive(5000),
  });
