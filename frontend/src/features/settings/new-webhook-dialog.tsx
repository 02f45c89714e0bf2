import { Checkbox, NativeSelect, TextInput } from "@mantine/core";
import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";

import { createWebhook, webhooksQuery } from "@/api/queries/webhooks";
import type { NewWebhook, WebhookKind } from "@/api/types";
import { ActionForm } from "@/components/action-form";
import { Dialog } from "@/components/dialog";
import { OneTimeSecret } from "@/components/one-time-secret";

import classes from "./settings.module.css";
import { KINDS } from "./webhook-kinds";

interface Props {
  project: string;
  onClose: () => void;
}

/** Asks where to send what, makes the webhook, and shows the secret of its signature this once. */
export function NewWebhookDialog({ project, onClose }: Props) {
  const [made, setMade] = useState<NewWebhook | null>(null);
  return (
    <Dialog
      title={made === null ? `New webhook of ${project}` : `Webhook ${made.name}`}
      onClose={() => made === null && onClose()}
    >
      {made === null || made.secret === null ? (
        <WebhookForm
          project={project}
          onMade={(next) => (next.secret === null ? onClose() : setMade(next))}
          onClose={onClose}
        />
      ) : (
        <>
          <p className={classes.hint}>
            The receiver checks signatures with this secret; the guide on alerts shows how.
          </p>
          <OneTimeSecret label="secret" secret={made.secret} onDone={onClose} />
        </>
      )}
    </Dialog>
  );
}

interface FormProps extends Props {
  onMade: (made: NewWebhook) => void;
}

function WebhookForm({ project, onMade, onClose }: FormProps) {
  const client = useQueryClient();
  const [name, setName] = useState("");
  const [url, setUrl] = useState("");
  const [format, setFormat] = useState<"json" | "slack">("json");
  const [kinds, setKinds] = useState<readonly WebhookKind[]>(["alert.firing", "alert.resolved"]);
  const toggle = (kind: WebhookKind, on: boolean) =>
    setKinds(KINDS.map(({ value }) => value).filter((v) => (v === kind ? on : kinds.includes(v))));
  return (
    <ActionForm
      submit="Make webhook"
      fields={["name", "url", "kinds"]}
      disabled={name.trim() === "" || url.trim() === "" || kinds.length === 0}
      onCancel={onClose}
      onSubmit={() =>
        createWebhook(project, {
          name: name.trim(),
          url: url.trim(),
          format,
          kinds: [...kinds],
          enabled: true,
        })
      }
      onDone={(made) => {
        onMade(made);
        void client.invalidateQueries({ queryKey: webhooksQuery(project).queryKey });
      }}
    >
      {(errors) => (
        <>
          <TextInput
            label="Name"
            value={name}
            maxLength={200}
            error={errors.of("name")}
            onChange={(event) => setName(event.currentTarget.value)}
          />
          <TextInput
            label="URL"
            description="Public addresses only, unless who runs the server allows others"
            placeholder="https://hooks.example/headrace"
            value={url}
            maxLength={2000}
            spellCheck={false}
            autoCapitalize="none"
            error={errors.of("url")}
            onChange={(event) => setUrl(event.currentTarget.value)}
          />
          <NativeSelect
            label="Format"
            value={format}
            data={[
              { value: "json", label: "JSON, signed" },
              { value: "slack", label: "Slack" },
            ]}
            onChange={(event) => setFormat(event.currentTarget.value as "json" | "slack")}
          />
          <fieldset className={classes.fieldset}>
            <legend>Send when</legend>
            <div className={classes.scopes}>
              {KINDS.map(({ value, label }) => (
                <Checkbox
                  key={value}
                  size="sm"
                  label={label}
                  checked={kinds.includes(value)}
                  onChange={(event) => toggle(value, event.currentTarget.checked)}
                />
              ))}
            </div>
            {errors.of("kinds") && <p className={classes.error}>{errors.of("kinds")}</p>}
          </fieldset>
        </>
      )}
    </ActionForm>
  );
}
