import { NativeSelect, TextInput } from "@mantine/core";
import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";

import { alertsKey, changeRule, createRule } from "@/api/queries/alerts";
import type { AlertKind, AlertRule } from "@/api/types";
import { ActionForm } from "@/components/action-form";
import { Dialog } from "@/components/dialog";

import { unitOf } from "./alert-units";
import { KINDS } from "./alerts-search";
import classes from "./alerts.module.css";
import { draftErrors, draftOf, patchOf, ruleOf, WINDOW_UNIT, type RuleDraft } from "./rule-draft";

interface Props {
  project: string;
  /** The rule to change; none for a new one. */
  rule?: AlertRule;
  onClose: () => void;
}

const FIELDS = [
  "name",
  "job_pattern",
  "tags",
  "threshold",
  "clear_at",
  "for_s",
  "clear_for_s",
  "window",
  "max_epochs",
];

/** Makes a rule, or changes one. */
export function RuleDialog({ project, rule, onClose }: Props) {
  const client = useQueryClient();
  const [draft, setDraft] = useState(() => draftOf(rule));
  const unread = draftErrors(draft);
  const set = (change: Partial<RuleDraft>) => setDraft((before) => ({ ...before, ...change }));
  const text = (field: Exclude<keyof RuleDraft, "kind">) => ({
    value: draft[field],
    onChange: (event: { currentTarget: { value: string } }) =>
      set({ [field]: event.currentTarget.value }),
  });
  const unit = unitOf(draft.kind);
  const window = WINDOW_UNIT[draft.kind];
  const side = draft.kind === "throughput_drop" ? "below" : "above";
  return (
    <Dialog title={rule === undefined ? `New rule of ${project}` : rule.name} onClose={onClose}>
      <ActionForm<unknown>
        submit={rule === undefined ? "Make rule" : "Save"}
        fields={FIELDS}
        disabled={draft.name.trim() === "" || Object.keys(unread).length > 0}
        onCancel={onClose}
        onSubmit={() =>
          rule === undefined
            ? createRule(project, ruleOf(draft))
            : changeRule(project, rule.id, patchOf(draft))
        }
        onDone={() => {
          void client.invalidateQueries({ queryKey: alertsKey });
          onClose();
        }}
      >
        {(errors) => {
          const error = (field: string) => unread[field] ?? errors.of(field);
          return (
            <>
              <TextInput label="Name" maxLength={200} error={error("name")} {...text("name")} />
              {rule === undefined && (
                <NativeSelect
                  label="Kind"
                  description="A figure left empty is as in the rule of this kind that projects begin with."
                  value={draft.kind}
                  data={[...KINDS]}
                  onChange={(event) => set({ kind: event.currentTarget.value as AlertKind })}
                />
              )}
              <div className={classes.half}>
                <TextInput
                  label={`Fires ${side} (${unit})`}
                  inputMode="decimal"
                  error={error("threshold")}
                  {...text("threshold")}
                />
                <TextInput
                  label="for (s)"
                  inputMode="decimal"
                  error={error("for_s")}
                  {...text("forS")}
                />
                <TextInput
                  label={`Resolves at (${unit})`}
                  inputMode="decimal"
                  error={error("clear_at")}
                  {...text("clearAt")}
                />
                <TextInput
                  label="for (s) "
                  aria-label="resolves for (s)"
                  inputMode="decimal"
                  error={error("clear_for_s")}
                  {...text("clearForS")}
                />
                {window !== undefined && (
                  <TextInput
                    label={`Looks back (${window})`}
                    inputMode="numeric"
                    error={error("window")}
                    {...text("window")}
                  />
                )}
                {draft.kind === "source_exhaustion" && (
                  <TextInput
                    label="A source may be read (epochs)"
                    inputMode="decimal"
                    error={error("max_epochs")}
                    {...text("maxEpochs")}
                  />
                )}
                <TextInput
                  label="Only jobs named"
                  placeholder="llama-*"
                  maxLength={200}
                  error={error("job_pattern")}
                  {...text("jobPattern")}
                />
                <TextInput
                  label="Only jobs tagged"
                  placeholder="team=pretrain"
                  error={error("tags")}
                  {...text("tags")}
                />
              </div>
            </>
          );
        }}
      </ActionForm>
    </Dialog>
  );
}
