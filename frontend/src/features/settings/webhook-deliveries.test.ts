import { expect, it } from "vitest";

import type { WebhookDelivery } from "@/api/types";

import { outcome } from "./webhook-deliveries";

const delivery = (change: Partial<WebhookDelivery>): WebhookDelivery => ({
  id: "d",
  kind: "test",
  text: "Test",
  state: "pending",
  tries: 0,
  created_at: "2026-11-30T09:00:00Z",
  tried_at: null,
  next_at: null,
  status: null,
  error: null,
  ended_at: null,
  ...change,
});

it("says what came of a delivery", () => {
  expect(outcome(delivery({})).text).toBe("on its way");
  expect(outcome(delivery({ state: "delivered", tries: 1, status: 204 })).text).toBe(
    "delivered: answered 204 after 1 try",
  );
  expect(outcome(delivery({ tries: 2, status: 500, error: "answered 500: no" }))).toEqual({
    tone: "warn",
    text: "failed: answered 500: no; tried again later",
  });
  expect(
    outcome(delivery({ state: "given_up", tries: 9, error: "no answer within 15 s" })),
  ).toEqual({ tone: "bad", text: "given up: no answer within 15 s" });
});
