import { Button, Switch } from "@mantine/core";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";

import { errorMessage } from "@/api/problem";
import {
  changeWebhook,
  deleteWebhook,
  deliveriesQuery,
  testWebhook,
  webhooksQuery,
} from "@/api/queries/webhooks";
import type { Webhook } from "@/api/types";
import card from "@/components/card.module.css";
import { ConfirmDialog } from "@/components/confirm-dialog";
import { Moment } from "@/components/time";

import classes from "./settings.module.css";
import { Deliveries, TestResult } from "./webhook-deliveries";
import { KINDS } from "./webhook-kinds";

interface Props {
  project: string;
  webhook: Webhook;
}

/** One webhook: where it leads, what it is sent, whether it is on, a test of it, and what came of deliveries. */
export function WebhookCard({ project, webhook }: Props) {
  const client = useQueryClient();
  const [deleting, setDeleting] = useState(false);
  const [open, setOpen] = useState(false);
  const refresh = () => client.invalidateQueries({ queryKey: webhooksQuery(project).queryKey });
  const change = useMutation({
    mutationFn: (enabled: boolean) => changeWebhook(project, webhook.id, { enabled }),
    onSettled: refresh,
  });
  const test = useMutation({
    mutationFn: () => testWebhook(project, webhook.id),
    onSuccess: () =>
      client.invalidateQueries({ queryKey: deliveriesQuery(project, webhook.id).queryKey }),
  });
  const kinds = KINDS.filter(({ value }) => webhook.kinds.includes(value));
  const failed = change.error ?? test.error;
  return (
    <li className={`${card.card} ${classes.webhook}`} aria-label={webhook.name}>
      <div className={classes.row}>
        <h3>
          {webhook.name}{" "}
          <span className={`${classes.dim} ${classes.mono}`}>{webhook.shown_url}</span>
        </h3>
        <Switch
          label={webhook.enabled ? "on" : "off"}
          aria-label={`${webhook.name} is on`}
          checked={change.isPending ? change.variables : webhook.enabled}
          disabled={change.isPending}
          onChange={(event) => change.mutate(event.currentTarget.checked)}
        />
      </div>
      <p className={classes.dim}>
        {webhook.format === "slack" ? "Slack" : "signed JSON"}, when{" "}
        {kinds.map(({ label }) => label).join(", ")}. Made by {webhook.created_by},{" "}
        <Moment at={webhook.created_at} />.
      </p>
      <div className={classes.buttons}>
        <Button
          size="xs"
          variant="default"
          loading={test.isPending}
          disabled={!webhook.enabled}
          onClick={() => test.mutate()}
        >
          Send a test
        </Button>
        <Button
          size="xs"
          variant="default"
          aria-expanded={open}
          onClick={() => setOpen((before) => !before)}
        >
          Deliveries
        </Button>
        <Button size="xs" variant="default" onClick={() => setDeleting(true)}>
          Delete…
        </Button>
        {!webhook.enabled && <span className={classes.dim}>Switch it on to test it.</span>}
      </div>
      {failed !== null && (
        <p role="alert" className={classes.error}>
          {errorMessage(failed)}
        </p>
      )}
      {test.data && <TestResult project={project} webhook={webhook.id} delivery={test.data} />}
      {open && <Deliveries project={project} webhook={webhook.id} />}
      {deleting && (
        <ConfirmDialog
          title={`Delete the webhook ${webhook.name}?`}
          confirm="Delete"
          onConfirm={() => deleteWebhook(project, webhook.id).then(refresh)}
          onClose={() => setDeleting(false)}
        >
          What was still to be sent to it is given up, and the list of its deliveries goes too.
        </ConfirmDialog>
      )}
    </li>
  );
}
