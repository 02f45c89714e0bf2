import { infiniteQueryOptions, queryOptions } from "@tanstack/react-query";

import { api, unwrap } from "../client";
import { pollUnlessLive } from "../connection";
import type {
  AlertKind,
  AlertMuteCreate,
  AlertRuleCreate,
  AlertRulePatch,
  AlertState,
} from "../types";

/** Which alerts to list; what is left out narrows nothing. */
export interface AlertsFilter {
  project?: string | undefined;
  job?: string | undefined;
  kind?: AlertKind | undefined;
  states: readonly AlertState[];
}

/** The key of all that is kept of alerts, rules and mutes. */
export const alertsKey = ["alerts"] as const;
const PAGE = 50;
const EVERY_MS = 5000;

/** Alerts, newest first, page by page. */
export const alertsQuery = ({ project, job, kind, states }: AlertsFilter) =>
  infiniteQueryOptions({
    queryKey: [...alertsKey, "list", { project, job, kind, states }],
    queryFn: ({ signal, pageParam }) =>
      unwrap(
        api.GET("/api/v1/alerts", {
          params: {
            query: {
              limit: PAGE,
              state: [...states],
              ...(project !== undefined && { project }),
              ...(job !== undefined && { job }),
              ...(kind !== undefined && { kind: [kind] }),
              ...(pageParam && { cursor: pageParam }),
            },
          },
          signal,
        }),
      ),
    initialPageParam: "",
    getNextPageParam: (page) => page.next_cursor,
    refetchInterval: pollUnlessLive(EVERY_MS),
  });

/** How many alerts are open, for the badge. */
export const alertCountQuery = () =>
  queryOptions({
    queryKey: [...alertsKey, "count"],
    queryFn: ({ signal }) => unwrap(api.GET("/api/v1/alerts/count", { signal })),
    refetchInterval: pollUnlessLive(EVERY_MS),
  });

/** Says that somebody looks into it. */
export const acknowledgeAlert = (alert: string, comment: string) =>
  unwrap(
    api.POST("/api/v1/alerts/{alert}/acknowledge", {
      params: { path: { alert } },
      body: { comment },
    }),
  );

/** The mutes in force in a project, the one that ends first at the top. */
export const mutesQuery = (project: string) =>
  queryOptions({
    queryKey: [...alertsKey, "mutes", project],
    queryFn: async ({ signal }) =>
      (
        await unwrap(
          api.GET("/api/v1/projects/{project}/alerts/mutes", {
            params: { path: { project } },
            signal,
          }),
        )
      ).items,
    // A mute ends by itself, which nothing announces.
    refetchInterval: 30_000,
  });

/** Keeps a rule or a job quiet for a while. */
export const muteAlerts = (project: string, body: AlertMuteCreate) =>
  unwrap(
    api.POST("/api/v1/projects/{project}/alerts/mutes", { params: { path: { project } }, body }),
  );

/** Ends a mute now. */
export const unmuteAlerts = (project: string, mute: string) =>
  unwrap(
    api.DELETE("/api/v1/projects/{project}/alerts/mutes/{mute}", {
      params: { path: { project, mute } },
    }),
  );

/** The project's rules, the oldest first. */
export const rulesQuery = (project: string) =>
  queryOptions({
    queryKey: [...alertsKey, "rules", project],
    queryFn: async ({ signal }) =>
      (
        await unwrap(
          api.GET("/api/v1/projects/{project}/alerts/rules", {
            params: { path: { project } },
            signal,
          }),
        )
      ).items,
  });

/** Makes a rule. */
export const createRule = (project: string, body: AlertRuleCreate) =>
  unwrap(
    api.POST("/api/v1/projects/{project}/alerts/rules", { params: { path: { project } }, body }),
  );

/** Changes what `body` names. */
export const changeRule = (project: string, rule: string, body: AlertRulePatch) =>
  unwrap(
    api.PATCH("/api/v1/projects/{project}/alerts/rules/{rule}", {
      params: { path: { project, rule } },
      body,
    }),
  );

/** Deletes a rule; its open alerts are resolved. */
export const deleteRule = (project: string, rule: string) =>
  unwrap(
    api.DELETE("/api/v1/projects/{project}/alerts/rules/{rule}", {
      params: { path: { project, rule } },
    }),
  );
