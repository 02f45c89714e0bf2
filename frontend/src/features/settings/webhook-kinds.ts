import type { WebhookKind } from "@/api/types";

/** What can be sent, in words. */
export const KINDS: readonly { value: WebhookKind; label: string }[] = [
  { value: "alert.firing", label: "an alert fires" },
  { value: "alert.acknowledged", label: "an alert is acknowledged" },
  { value: "alert.resolved", label: "an alert is resolved" },
  { value: "mix.edited", label: "the mix is edited" },
  { value: "attempt.ended", label: "an attempt ends" },
];
