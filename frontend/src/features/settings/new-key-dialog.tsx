import { Checkbox, NativeSelect, TextInput } from "@mantine/core";
import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";

import { createKey, keysQuery } from "@/api/queries/keys";
import type { KeyScope, NewApiKey } from "@/api/types";
import { ActionForm } from "@/components/action-form";
import { Dialog } from "@/components/dialog";
import { OneTimeSecret } from "@/components/one-time-secret";

import classes from "./settings.module.css";

const SCOPES: readonly { value: KeyScope; label: string }[] = [
  { value: "ingest", label: "ingest: training runs register jobs and report" },
  { value: "read", label: "read: scripts and Prometheus" },
  { value: "operate", label: "operate: scripts that change jobs and mixes" },
];
const DAY_S = 86_400;
const LIFETIMES = [
  { value: "30", label: "30 days" },
  { value: "90", label: "90 days" },
  { value: "365", label: "a year" },
  { value: "", label: "never" },
];

interface Props {
  project: string;
  onClose: () => void;
}

/** Asks what a key may do and for how long, makes it, and shows it this once. */
export function NewKeyDialog({ project, onClose }: Props) {
  const [made, setMade] = useState<NewApiKey | null>(null);
  return (
    <Dialog
      title={made === null ? `New key for ${project}` : `Key ${made.name}`}
      onClose={() => made === null && onClose()}
    >
      {made === null ? (
        <KeyForm project={project} onMade={setMade} onClose={onClose} />
      ) : (
        <OneTimeSecret label="API key" secret={made.key} onDone={onClose} />
      )}
    </Dialog>
  );
}

interface FormProps extends Props {
  onMade: (made: NewApiKey) => void;
}

function KeyForm({ project, onMade, onClose }: FormProps) {
  const client = useQueryClient();
  const [name, setName] = useState("");
  const [scopes, setScopes] = useState<readonly KeyScope[]>(["ingest"]);
  const [job, setJob] = useState("");
  const [days, setDays] = useState("90");
  const onlyIngest = scopes.length === 1 && scopes[0] === "ingest";
  const send = () =>
    createKey(project, {
      name: name.trim(),
      scopes: [...scopes],
      ...(days !== "" && { expires_in_s: Number(days) * DAY_S }),
      ...(onlyIngest && job.trim() !== "" && { job: job.trim() }),
    });
  const toggle = (scope: KeyScope, on: boolean) =>
    setScopes(
      SCOPES.map(({ value }) => value).filter((v) => (v === scope ? on : scopes.includes(v))),
    );
  return (
    <ActionForm
      submit="Make key"
      fields={["name", "scopes", "job", "expires_in_s"]}
      disabled={name.trim() === "" || scopes.length === 0}
      onSubmit={send}
      onCancel={onClose}
      onDone={(made) => {
        onMade(made);
        void client.invalidateQueries({ queryKey: keysQuery(project).queryKey });
      }}
    >
      {(errors) => (
        <>
          <TextInput
            label="Name"
            description="What it is for, such as the cluster or the script"
            value={name}
            maxLength={200}
            error={errors.of("name")}
            onChange={(event) => setName(event.currentTarget.value)}
          />
          <fieldset className={classes.fieldset}>
            <legend>May</legend>
            <div className={classes.scopes}>
              {SCOPES.map(({ value, label }) => (
                <Checkbox
                  key={value}
                  size="sm"
                  label={label}
                  checked={scopes.includes(value)}
                  onChange={(event) => toggle(value, event.currentTarget.checked)}
                />
              ))}
            </div>
            {errors.of("scopes") && <p className={classes.error}>{errors.of("scopes")}</p>}
          </fieldset>
          <TextInput
            label="Only for the job named"
            description={
              onlyIngest
                ? "Left empty: for every job of the project"
                : "Only a key with nothing but “ingest” can be for one job"
            }
            disabled={!onlyIngest}
            value={onlyIngest ? job : ""}
            maxLength={200}
            error={errors.of("job")}
            onChange={(event) => setJob(event.currentTarget.value)}
          />
          <NativeSelect
            label="Ends after"
            value={days}
            data={LIFETIMES}
            error={errors.of("expires_in_s")}
            onChange={(event) => setDays(event.currentTarget.value)}
          />
        </>
      )}
    </ActionForm>
  );
}
