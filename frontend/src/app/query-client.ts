import { QueryClient } from "@tanstack/react-query";

import { ApiProblem } from "@/api/problem";

const MAX_RETRIES = 2;

/** The cache's rules: an answer is fresh for a few seconds, and only an unanswered or 5xx request is tried again. */
export const makeQueryClient = () =>
  new QueryClient({
    defaultOptions: {
      queries: {
        staleTime: 3000,
        retry: (failures, error) =>
          failures < MAX_RETRIES && !(error instanceof ApiProblem && error.status < 500),
        retryDelay: (failure) => Math.min(1000 * 2 ** failure, 8000),
        // The page says itself when it is cut off; a paused query would hide that.
        networkMode: "always",
      },
      mutations: { networkMode: "always" },
    },
  });
