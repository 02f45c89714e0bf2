import { Switch } from "@mantine/core";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";

import { useMay } from "@/api/permissions";
import { errorMessage } from "@/api/problem";
import { changeProjectSettings, projectSettingsQuery } from "@/api/queries/projects";
import card from "@/components/card.module.css";
import { ErrorState, LoadingState } from "@/components/page-states";
import { Panel } from "@/components/panel";
import { formatDuration } from "@/lib/time";

import { AdminsOnly } from "./roles";
import classes from "./settings.module.css";

/** Whether changes of the mix need a second person. */
export function ApprovalPage({ project }: { project: string }) {
  const client = useQueryClient();
  const mayChange = useMay(project, "administer");
  const settings = useQuery(projectSettingsQuery(project));
  const change = useMutation({
    mutationFn: (on: boolean) => changeProjectSettings(project, { requires_approval: on }),
    onSuccess: (next) => client.setQueryData(projectSettingsQuery(project).queryKey, next),
  });
  if (settings.isPending) return <LoadingState label="Loading the settings" rows={2} />;
  if (settings.data === undefined) {
    return <ErrorState error={settings.error} onRetry={() => void settings.refetch()} />;
  }
  const on = change.isPending ? change.variables : settings.data.requires_approval;
  return (
    <Panel
      title="Approval"
      about="With approval, a change of the mix waits until somebody else says yes: an approver or an admin of the project, never its author, and never a key. Pausing a source works without."
    >
      {!mayChange && <AdminsOnly project={project} what="change this" />}
      <div className={card.card}>
        <Switch
          label="Changes of the mix need a second person"
          checked={on}
          disabled={!mayChange || change.isPending}
          onChange={(event) => change.mutate(event.currentTarget.checked)}
        />
      </div>
      {change.isError && (
        <p role="alert" className={classes.error}>
          {errorMessage(change.error)}
        </p>
      )}
      <p className={classes.dim}>
        A change that nobody approved ends after{" "}
        {formatDuration(settings.data.server.approval_expires_s)}, as the server’s setting{" "}
        <code>HEADRACE_SERVER_APPROVAL_EXPIRES_S</code> says.
      </p>
    </Panel>
  );
}
