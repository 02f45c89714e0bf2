import { useQuery } from "@tanstack/react-query";

import { projectSettingsQuery } from "@/api/queries/projects";
import { ErrorState, LoadingState } from "@/components/page-states";
import { NotAllowed, Panel } from "@/components/panel";
import { RecordCell, RecordRow, RecordTable } from "@/components/record-table";
import { formatDuration } from "@/lib/time";

/** How long things are kept; set where the server is started, for all projects alike. */
export function RetentionPage({ project }: { project: string }) {
  const settings = useQuery(projectSettingsQuery(project));
  if (settings.isPending) return <LoadingState label="Loading the settings" rows={3} />;
  if (settings.data === undefined) {
    return <ErrorState error={settings.error} onRetry={() => void settings.refetch()} />;
  }
  const { keep_reports_s: reports, keep_rank_rollups_s: rollups } = settings.data.server;
  return (
    <Panel title="Retention" about="How long the service keeps what jobs report.">
      <NotAllowed>
        This holds for every project, because whole days are dropped at once. Who runs the server
        changes it, by the settings named here.
      </NotAllowed>
      <RecordTable label="Retention" columns={["What", "Kept for", "Setting"]}>
        <RecordRow name="Reports of ranks">
          <RecordCell label="Kept for">{formatDuration(reports)}</RecordCell>
          <RecordCell label="Setting">
            <code>HEADRACE_SERVER_KEEP_REPORTS_S</code>
          </RecordCell>
        </RecordRow>
        <RecordRow name="One-minute figures of each rank">
          <RecordCell label="Kept for">{formatDuration(rollups)}</RecordCell>
          <RecordCell label="Setting">
            <code>HEADRACE_SERVER_KEEP_RANK_ROLLUPS_S</code>
          </RecordCell>
        </RecordRow>
        <RecordRow name="One-minute figures of jobs and sources">
          <RecordCell label="Kept for">as long as the job</RecordCell>
          <RecordCell label="Setting">–</RecordCell>
        </RecordRow>
        <RecordRow name="Mix versions, audit log, alerts">
          <RecordCell label="Kept for">for ever</RecordCell>
          <RecordCell label="Setting">–</RecordCell>
        </RecordRow>
        <RecordRow name="Webhook deliveries that ended">
          <RecordCell label="Kept for">30 days</RecordCell>
          <RecordCell label="Setting">–</RecordCell>
        </RecordRow>
      </RecordTable>
    </Panel>
  );
}
