import { Button, Switch } from "@mantine/core";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";

import { errorMessage } from "@/api/problem";
import { changeRule, deleteRule, alertsKey } from "@/api/queries/alerts";
import type { AlertRule } from "@/api/types";
import { ConfirmDialog } from "@/components/confirm-dialog";
import { RecordCell, RecordRow } from "@/components/record-table";
import { formatCount } from "@/lib/format";
import { formatDuration } from "@/lib/time";

import { fires, formatFigure } from "./alert-units";
import classes from "./alerts.module.css";
import { RuleDialog } from "./rule-dialog";

interface Props {
  project: string;
  rule: AlertRule;
  mayChange: boolean;
}

const held = (seconds: number) => (seconds === 0 ? "at once" : `for ${formatDuration(seconds)}`);

/** How far back the rule looks, where its kind does. */
function lookBack(rule: AlertRule): string | null {
  if (rule.max_epochs !== null) return `of ${rule.max_epochs} epochs`;
  if (rule.window === null) return null;
  return rule.kind === "mix_drift"
    ? `over ${formatCount(rule.window)} steps`
    : `over ${formatDuration(rule.window)}`;
}

/** Which jobs the rule is about. */
function about({ job_pattern: pattern, tags }: AlertRule): string {
  const tagged = Object.entries(tags).map(([key, value]) => `${key}=${value}`);
  return [pattern ?? "all", ...tagged].join(", ");
}

/** One rule: when it fires and resolves, for which jobs, and whether it is on. */
export function RuleRow({ project, rule, mayChange }: Props) {
  const client = useQueryClient();
  const [asked, setAsked] = useState<"edit" | "delete" | null>(null);
  const refresh = () => client.invalidateQueries({ queryKey: alertsKey });
  const change = useMutation({
    mutationFn: (enabled: boolean) => changeRule(project, rule.id, { enabled }),
    onSettled: refresh,
  });
  const back = lookBack(rule);
  return (
    <RecordRow
      name={
        <>
          {rule.name}
          <span className={classes.small}>{rule.about.replaceAll("`", "")}</span>
        </>
      }
    >
      <RecordCell label="Fires">
        {fires(rule.fires_below)} {formatFigure(rule.kind, rule.threshold)}
        <span className={classes.small}>
          {held(rule.for_s)}
          {back !== null && `, ${back}`}
        </span>
      </RecordCell>
      <RecordCell label="Resolves">
        {formatFigure(rule.kind, rule.clear_at)} or {rule.fires_below ? "more" : "less"}
        <span className={classes.small}>{held(rule.clear_for_s)}</span>
      </RecordCell>
      <RecordCell label="Jobs">{about(rule)}</RecordCell>
      <RecordCell label="On">
        {mayChange ? (
          <Switch
            aria-label={`${rule.name} is on`}
            checked={change.isPending ? change.variables : rule.enabled}
            disabled={change.isPending}
            onChange={(event) => change.mutate(event.currentTarget.checked)}
          />
        ) : (
          <>{rule.enabled ? "on" : "off"}</>
        )}
        {change.isError && (
          <p role="alert" className={classes.error}>
            {errorMessage(change.error)}
          </p>
        )}
      </RecordCell>
      <RecordCell label="">
        {mayChange && (
          <span className={classes.buttons} role="group" aria-label={`Change ${rule.name}`}>
            <Button size="xs" variant="default" onClick={() => setAsked("edit")}>
              Edit…
            </Button>
            <Button size="xs" variant="default" onClick={() => setAsked("delete")}>
              Delete…
            </Button>
          </span>
        )}
      </RecordCell>
      {asked === "edit" && (
        <RuleDialog project={project} rule={rule} onClose={() => setAsked(null)} />
      )}
      {asked === "delete" && (
        <ConfirmDialog
          title={`Delete the rule ${rule.name}?`}
          confirm="Delete"
          onConfirm={() => deleteRule(project, rule.id).then(refresh)}
          onClose={() => setAsked(null)}
        >
          Its open alerts are resolved. Rules that a project begins with don’t come back by
          themselves; to pause one, switch it off.
        </ConfirmDialog>
      )}
    </RecordRow>
  );
}
