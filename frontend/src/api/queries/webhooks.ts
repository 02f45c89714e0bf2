import { queryOptions } from "@tanstack/react-query";

import { api, unwrap } from "../client";
import type { WebhookCreate, WebhookPatch } from "../types";

const key = (project: string) => ["webhooks", project] as const;

/** The project's webhooks, without their URLs and secrets. */
export const webhooksQuery = (project: string) =>
  queryOptions({
    queryKey: [...key(project), "list"],
    queryFn: async ({ signal }) =>
      (
        await unwrap(
          api.GET("/api/v1/projects/{project}/webhooks", { params: { path: { project } }, signal }),
        )
      ).items,
  });

/** Makes a webhook; the answer is the only one that has its secret. */
export const createWebhook = (project: string, body: WebhookCreate) =>
  unwrap(api.POST("/api/v1/projects/{project}/webhooks", { params: { path: { project } }, body }));

/** Changes what `body` names. */
export const changeWebhook = (project: string, webhook: string, body: WebhookPatch) =>
  unwrap(
    api.PATCH("/api/v1/projects/{project}/webhooks/{webhook}", {
      params: { path: { project, webhook } },
      body,
    }),
  );

/** Deletes a webhook with what was still to be sent to it. */
export const deleteWebhook = (project: string, webhook: string) =>
  unwrap(
    api.DELETE("/api/v1/projects/{project}/webhooks/{webhook}", {
      params: { path: { project, webhook } },
    }),
  );

/** Puts a test event on its way; the deliveries say what came of it. */
export const testWebhook = (project: string, webhook: string) =>
  unwrap(
    api.POST("/api/v1/projects/{project}/webhooks/{webhook}/test", {
      params: { path: { project, webhook } },
    }),
  );

const SHOWN = 20;

/** The newest deliveries of a webhook, and what came of each; asked for again while one is on its way. */
export const deliveriesQuery = (project: string, webhook: string) =>
  queryOptions({
    queryKey: [...key(project), "deliveries", webhook],
    queryFn: async ({ signal }) =>
      (
        await unwrap(
          api.GET("/api/v1/projects/{project}/webhooks/{webhook}/deliveries", {
            params: { path: { project, webhook }, query: { limit: SHOWN } },
            signal,
          }),
        )
      ).items,
    refetchInterval: ({ state }) =>
      state.data?.some((delivery) => delivery.state === "pending") ? 1000 : 10_000,
  });
