import { Button } from "@mantine/core";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";

import { useMay } from "@/api/permissions";
import { keysQuery, revokeKey } from "@/api/queries/keys";
import type { ApiKey } from "@/api/types";
import { ConfirmDialog } from "@/components/confirm-dialog";
import { EmptyState, ErrorState, LoadingState } from "@/components/page-states";
import { Panel } from "@/components/panel";
import { RecordCell, RecordRow, RecordTable } from "@/components/record-table";
import { Age, Moment } from "@/components/time";
import { useNow } from "@/lib/use-now";

import { NewKeyDialog } from "./new-key-dialog";
import { AdminsOnly } from "./roles";
import classes from "./settings.module.css";

/** The project's keys for machines: what each may do, who made it, when it was last used; made and revoked here. */
export function KeysPage({ project }: { project: string }) {
  const maySee = useMay(project, "administer");
  const [making, setMaking] = useState(false);
  return (
    <Panel
      title="API keys"
      about="Machines send keys, as HEADRACE_TOKEN: training runs, scripts, Prometheus. A key belongs to this project; only its hash is kept."
      actions={maySee && <Button onClick={() => setMaking(true)}>New key…</Button>}
    >
      {maySee ? (
        <KeyList project={project} />
      ) : (
        <AdminsOnly project={project} what="see and make its keys" />
      )}
      {making && <NewKeyDialog project={project} onClose={() => setMaking(false)} />}
    </Panel>
  );
}

function KeyList({ project }: { project: string }) {
  const keys = useQuery(keysQuery(project));
  if (keys.isPending) return <LoadingState label="Loading the keys" rows={3} />;
  if (keys.data === undefined) {
    return <ErrorState error={keys.error} onRetry={() => void keys.refetch()} />;
  }
  if (keys.data.length === 0) {
    return (
      <EmptyState title="No key yet">A training run needs one with the scope “ingest”.</EmptyState>
    );
  }
  return (
    <RecordTable label="API keys" columns={["Key", "May", "Made", "Ends", "Last used", ""]}>
      {keys.data.map((key) => (
        <KeyRow key={key.id} project={project} apiKey={key} />
      ))}
    </RecordTable>
  );
}

function KeyRow({ project, apiKey }: { project: string; apiKey: ApiKey }) {
  const client = useQueryClient();
  const [revoking, setRevoking] = useState(false);
  const now = useNow(60_000);
  const expired = apiKey.expires_at !== null && Date.parse(apiKey.expires_at) < now;
  return (
    <RecordRow
      name={
        <>
          {apiKey.name}
          <span className={`${classes.small} ${classes.mono}`}>{apiKey.prefix}…</span>
        </>
      }
    >
      <RecordCell label="May">
        {apiKey.scopes.join(", ")}
        {apiKey.job !== null && <span className={classes.small}>job {apiKey.job} only</span>}
      </RecordCell>
      <RecordCell label="Made">
        <Moment at={apiKey.created_at} />
        <span className={classes.small}>by {apiKey.created_by}</span>
      </RecordCell>
      <RecordCell label="Ends">
        {apiKey.expires_at === null ? "never" : <Moment at={apiKey.expires_at} />}
        {expired && <span className={`${classes.small} ${classes.bad}`}>has ended</span>}
      </RecordCell>
      <RecordCell label="Last used">
        {apiKey.last_used_at === null ? "never" : <Age at={apiKey.last_used_at} />}
      </RecordCell>
      <RecordCell label="">
        <Button size="xs" variant="default" onClick={() => setRevoking(true)}>
          Revoke<span className={classes.hidden}> {apiKey.name}</span>
        </Button>
      </RecordCell>
      {revoking && (
        <ConfirmDialog
          title={`Revoke the key ${apiKey.name}?`}
          confirm="Revoke"
          onConfirm={() =>
            revokeKey(project, apiKey.id).then(() =>
              client.invalidateQueries({ queryKey: keysQuery(project).queryKey }),
            )
          }
          onClose={() => setRevoking(false)}
        >
          It stops working at once and can’t be brought back. Runs that report with it go on
          training; their reports wait on their nodes until they get another key.
        </ConfirmDialog>
      )}
    </RecordRow>
  );
}
