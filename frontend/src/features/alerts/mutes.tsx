import { Button } from "@mantine/core";
import { useMutation, useQueries, useQuery, useQueryClient } from "@tanstack/react-query";

import { useMay } from "@/api/permissions";
import { errorMessage } from "@/api/problem";
import { alertsKey, mutesQuery, rulesQuery, unmuteAlerts } from "@/api/queries/alerts";
import { jobQuery } from "@/api/queries/job";
import type { AlertMute } from "@/api/types";
import { Panel } from "@/components/panel";
import { RecordCell, RecordRow, RecordTable } from "@/components/record-table";
import { Moment } from "@/components/time";

import classes from "./alerts.module.css";

/** More projects than this are looked at one by one, by the filter. */
const MAX_PROJECTS = 20;

/** The mutes in force; nothing where there is none. */
export function Mutes({ projects }: { projects: readonly string[] }) {
  const asked = projects.slice(0, MAX_PROJECTS);
  const found = useQueries({ queries: asked.map((project) => mutesQuery(project)) });
  const rows = asked.flatMap((project, index) =>
    (found[index]?.data ?? []).map((mute) => ({ project, mute })),
  );
  if (rows.length === 0) return null;
  return (
    <Panel title="Muted" about="Alerts of these are listed, and webhooks are not told of them.">
      <RecordTable label="Mutes" columns={["What", "Until", "Why", ""]}>
        {rows.map(({ project, mute }) => (
          <MuteRow key={mute.id} project={project} mute={mute} />
        ))}
      </RecordTable>
    </Panel>
  );
}

function MuteRow({ project, mute }: { project: string; mute: AlertMute }) {
  const client = useQueryClient();
  const mayOperate = useMay(project, "operate");
  const end = useMutation({
    mutationFn: () => unmuteAlerts(project, mute.id),
    onSettled: () => client.invalidateQueries({ queryKey: alertsKey }),
  });
  return (
    <RecordRow
      name={
        mute.rule === null ? (
          <JobName jobId={mute.job ?? ""} />
        ) : (
          <RuleName project={project} ruleId={mute.rule} />
        )
      }
    >
      <RecordCell label="Until">
        <Moment at={mute.until} />
      </RecordCell>
      <RecordCell label="Why">
        {mute.reason}
        <span className={classes.small}>
          {mute.created_by}, <Moment at={mute.created_at} />
        </span>
      </RecordCell>
      <RecordCell label="">
        {mayOperate ? (
          <Button size="xs" variant="default" loading={end.isPending} onClick={() => end.mutate()}>
            End now
          </Button>
        ) : (
          <span className={classes.dim}>operators end it</span>
        )}
        {end.isError && (
          <p role="alert" className={classes.error}>
            {errorMessage(end.error)}
          </p>
        )}
      </RecordCell>
    </RecordRow>
  );
}

function JobName({ jobId }: { jobId: string }) {
  const job = useQuery(jobQuery(jobId));
  return <>job {job.data?.name ?? jobId.slice(0, 8)}</>;
}

function RuleName({ project, ruleId }: { project: string; ruleId: string }) {
  const rules = useQuery(rulesQuery(project));
  return <>rule {rules.data?.find(({ id }) => id === ruleId)?.name ?? ruleId.slice(0, 8)}</>;
}
