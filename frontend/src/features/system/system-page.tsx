import { useQuery } from "@tanstack/react-query";

import { hasStatus } from "@/api/problem";
import { sessionQuery } from "@/api/queries/session";
import { systemQuery } from "@/api/queries/system";
import type { System } from "@/api/types";
import { EmptyState, ErrorState, LoadingState } from "@/components/page-states";
import { Fact, Facts, Panel } from "@/components/panel";
import { Age, Moment } from "@/components/time";
import { formatBytes, formatCount, plural } from "@/lib/format";
import { formatDuration } from "@/lib/time";
import { bytes } from "@/lib/units";
import { useDocumentTitle } from "@/lib/use-document-title";

import { IngestPanel } from "./ingest-panel";
import { Notices } from "./notices";
import { Partitions } from "./partitions";
import { Processes } from "./processes";
import classes from "./system.module.css";

/** How the service itself is doing, and what its administrators should do about it. */
export function SystemPage() {
  useDocumentTitle("System");
  const isAdmin = useQuery(sessionQuery()).data?.user.is_admin ?? false;
  return (
    <>
      <h1 className={classes.title}>System</h1>
      {isAdmin ? <SystemState /> : <NotForYou />}
    </>
  );
}

function NotForYou() {
  return (
    <EmptyState title="Only administrators of the server see this">
      It says how the service itself is doing: its database, processes and deliveries. Whether the
      service hears of a job is said on the job’s page.
    </EmptyState>
  );
}

function SystemState() {
  const system = useQuery(systemQuery());
  if (system.isPending)
    return <LoadingState label="Loading the state of the service" rows={5} height={72} />;
  if (hasStatus(system.error, 403)) return <NotForYou />;
  if (system.data === undefined) {
    return <ErrorState error={system.error} onRetry={() => void system.refetch()} />;
  }
  const found = system.data;
  return (
    <>
      {system.isError && (
        <p role="status" className={classes.stale}>
          These figures are from <Age at={found.now} />; the server doesn’t answer now.
        </p>
      )}
      <Notices notices={found.notices} />
      <IngestPanel ingest={found.ingest} />
      <Storage system={found} />
      <Processes processes={found.processes} maxStreams={found.max_streams} />
      <Work system={found} />
      <SetUp system={found} />
    </>
  );
}

function Storage({ system: { database, partitions, rollup_delay_s: delay } }: { system: System }) {
  const current = database.revision === database.needed_revision;
  return (
    <Panel title="Storage">
      <Facts>
        <Fact name="Database" about={`version ${database.version}`}>
          {database.kind === "sqlite" ? "SQLite" : "PostgreSQL"}
        </Fact>
        <Fact name="Size">{formatBytes(bytes(database.size_bytes))}</Fact>
        <Fact
          name="Schema"
          about={
            current ? "what this server needs" : `this server needs ${database.needed_revision}`
          }
        >
          <code className={classes.revision}>{database.revision ?? "(empty)"}</code>
        </Fact>
        <Fact name="Rollup delay" about="of the oldest minute that should be rolled up">
          {delay < 1 ? "none" : formatDuration(Math.round(delay))}
        </Fact>
      </Facts>
      <Partitions tables={partitions} kind={database.kind} />
    </Panel>
  );
}

function Work({ system: { outbox, alerts_looked_at: looked } }: { system: System }) {
  return (
    <Panel title="Alerts and webhooks" about="Of all projects together.">
      <Facts>
        <Fact name="Rules looked at">{looked === null ? "not yet" : <Age at={looked} />}</Fact>
        <Fact name="Webhooks">{formatCount(outbox.num_webhooks)}</Fact>
        <Fact
          name="Deliveries waiting"
          about={
            outbox.oldest_pending_at === null ? undefined : (
              <>
                the oldest for <Age at={outbox.oldest_pending_at} suffix="" />
              </>
            )
          }
        >
          {formatCount(outbox.num_pending)}
        </Fact>
        <Fact name="Given up" about="in the last 24 hours">
          {formatCount(outbox.num_given_up)}
        </Fact>
      </Facts>
    </Panel>
  );
}

function SetUp({ system }: { system: System }) {
  const since = system.processes.map(({ started_at: at }) => at).sort()[0];
  return (
    <Panel title="Server">
      <Facts>
        <Fact name="Version" about={plural(system.processes.length, "process", "processes")}>
          {system.version}
        </Fact>
        {since !== undefined && (
          <Fact
            name="Up for"
            about={
              <>
                since <Moment at={since} />
              </>
            }
          >
            <Age at={since} suffix="" />
          </Fact>
        )}
        <Fact name="Sealing key" about="seals webhooks’ URLs and secrets in the database">
          {system.sealing_key ? "configured" : "not configured"}
        </Fact>
        <Fact name="Sign-in provider" about="besides passwords">
          {system.provider ?? "not configured"}
        </Fact>
      </Facts>
    </Panel>
  );
}
