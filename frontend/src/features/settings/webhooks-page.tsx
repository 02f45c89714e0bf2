import { Button } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";

import { useMay } from "@/api/permissions";
import { webhooksQuery } from "@/api/queries/webhooks";
import { EmptyState, ErrorState, LoadingState } from "@/components/page-states";
import { Panel } from "@/components/panel";

import { NewWebhookDialog } from "./new-webhook-dialog";
import { AdminsOnly } from "./roles";
import { WebhookCard } from "./webhook-card";

/** Where the project's events are sent, and what came of it. */
export function WebhooksPage({ project }: { project: string }) {
  const maySee = useMay(project, "administer");
  const [making, setMaking] = useState(false);
  return (
    <Panel
      title="Webhooks"
      about="Alerts, edits of the mix and ended attempts, sent as signed JSON or to Slack. What fails is tried again for a day. URLs and secrets are never shown again."
      actions={maySee && <Button onClick={() => setMaking(true)}>New webhook…</Button>}
    >
      {maySee ? (
        <WebhookList project={project} />
      ) : (
        <AdminsOnly project={project} what="see and make its webhooks" />
      )}
      {making && <NewWebhookDialog project={project} onClose={() => setMaking(false)} />}
    </Panel>
  );
}

function WebhookList({ project }: { project: string }) {
  const webhooks = useQuery(webhooksQuery(project));
  if (webhooks.isPending) return <LoadingState label="Loading the webhooks" rows={2} height={64} />;
  if (webhooks.data === undefined) {
    return <ErrorState error={webhooks.error} onRetry={() => void webhooks.refetch()} />;
  }
  if (webhooks.data.length === 0) {
    return (
      <EmptyState title="No webhook yet">
        Nobody outside this page is told when an alert fires.
      </EmptyState>
    );
  }
  return (
    <ul aria-label="Webhooks">
      {webhooks.data.map((webhook) => (
        <WebhookCard key={webhook.id} project={project} webhook={webhook} />
      ))}
    </ul>
  );
}
