import { Button } from "@mantine/core";
import { useInfiniteQuery, useQuery } from "@tanstack/react-query";

import { alertsQuery } from "@/api/queries/alerts";
import { projectsQuery } from "@/api/queries/projects";
import type { AlertState } from "@/api/types";
import { EmptyState, ErrorState, LoadingState } from "@/components/page-states";
import { Panel } from "@/components/panel";

import { AlertRow } from "./alert-row";
import { AlertsFilter } from "./alerts-filter";
import { AlertsFrame } from "./alerts-frame";
import { KINDS, type AlertsSearch } from "./alerts-search";
import classes from "./alerts.module.css";
import { HistoryTable } from "./history-table";
import { Mutes } from "./mutes";

interface Props {
  search: AlertsSearch;
  onSearch: (search: AlertsSearch) => void;
}

const OPEN: readonly AlertState[] = ["firing", "acknowledged"];

/** What fires now, what is kept quiet, and what was resolved. */
export function AlertsPage({ search, onSearch }: Props) {
  const projects = useQuery(projectsQuery()).data ?? [];
  const muted = search.project === undefined ? projects.map(({ name }) => name) : [search.project];
  return (
    <AlertsFrame
      project={search.project}
      filter={<AlertsFilter search={search} onSearch={onSearch} />}
    >
      {search.state !== "resolved" && <OpenAlerts search={search} onSearch={onSearch} />}
      <Mutes projects={muted} />
      {(search.state === undefined || search.state === "resolved") && (
        <ResolvedAlerts search={search} />
      )}
    </AlertsFrame>
  );
}

function OpenAlerts({ search, onSearch }: Props) {
  const states = search.state === undefined ? OPEN : [search.state];
  const alerts = useInfiniteQuery(alertsQuery({ ...search, states }));
  const items = alerts.data?.pages.flatMap((page) => page.items) ?? [];
  // Those nobody has acknowledged come first; the rest keeps the order of the list, newest first.
  const firing = items.filter(({ state }) => state === "firing");
  const shown = [...firing, ...items.filter(({ state }) => state !== "firing")];
  return (
    <Panel title="Open">
      {alerts.isPending && <LoadingState label="Loading the alerts" rows={2} height={72} />}
      {alerts.isError && alerts.data === undefined && (
        <ErrorState error={alerts.error} onRetry={() => void alerts.refetch()} />
      )}
      {alerts.isSuccess && shown.length === 0 && (
        <NothingFires filtered={Object.keys(search).length > 0} />
      )}
      {shown.length > 0 && (
        <ul className={classes.list} aria-label="Open alerts">
          {shown.map((alert) => (
            <AlertRow
              key={alert.id}
              alert={alert}
              onOnlyJob={() => onSearch({ ...search, job: alert.job })}
            />
          ))}
        </ul>
      )}
      {alerts.hasNextPage && (
        <Button
          variant="default"
          loading={alerts.isFetchingNextPage}
          onClick={() => void alerts.fetchNextPage()}
        >
          Show more
        </Button>
      )}
    </Panel>
  );
}

/** What the rules that every project begins with look at, in the order of their kinds. */
const WATCHED: Readonly<Record<(typeof KINDS)[number]["value"], string>> = {
  rank_lost: "a rank is silent for more than three report intervals",
  job_stalled: "no rank advances for 5 min",
  data_wait: "ranks wait for data more than 20 % of their time",
  throughput_drop: "tokens/s fall below half of their median of an hour",
  mix_drift: "a source’s delivered share is more than 5 pp off",
  source_epochs: "a source will be read more than 4 times by the end of the run",
  source_exhaustion: "90 % of the epochs a source may be read are delivered",
};

function NothingFires({ filtered }: { filtered: boolean }) {
  if (filtered) return <EmptyState title="No open alert matches">Change the filter.</EmptyState>;
  return (
    <EmptyState title="Nothing fires">
      Every live job is looked at each ten seconds. A project begins with rules that fire when
      <ul className={classes.watched}>
        {KINDS.map(({ value, label }) => (
          <li key={value}>
            <strong>{label}:</strong> {WATCHED[value]}
          </li>
        ))}
      </ul>
    </EmptyState>
  );
}

function ResolvedAlerts({ search }: { search: AlertsSearch }) {
  const alerts = useInfiniteQuery(alertsQuery({ ...search, states: ["resolved"] }));
  const items = alerts.data?.pages.flatMap((page) => page.items) ?? [];
  return (
    <Panel title="Resolved">
      {alerts.isPending && <LoadingState label="Loading resolved alerts" rows={3} />}
      {alerts.isError && alerts.data === undefined && (
        <ErrorState error={alerts.error} onRetry={() => void alerts.refetch()} />
      )}
      {alerts.isSuccess && items.length === 0 && (
        <p className={classes.dim}>No alert was resolved yet.</p>
      )}
      {items.length > 0 && <HistoryTable alerts={items} />}
      {alerts.hasNextPage && (
        <Button
          variant="default"
          loading={alerts.isFetchingNextPage}
          onClick={() => void alerts.fetchNextPage()}
        >
          Show older
        </Button>
      )}
    </Panel>
  );
}
