import { Button } from "@mantine/core";
import { useInfiniteQuery } from "@tanstack/react-query";

import { auditQuery } from "@/api/queries/audit";
import { EmptyState, ErrorState, LoadingState } from "@/components/page-states";
import { Moment } from "@/components/time";

import { AuditFilterForm } from "./audit-filter-form";
import { AuditRow } from "./audit-row";
import { ExportLinks } from "./export-links";
import classes from "./history-page.module.css";
import type { HistorySearch } from "./history-search";

interface Props {
  jobId: string;
  search: HistorySearch;
  onSearch: (search: HistorySearch) => void;
}

/** The beginning of a date in the reader's zone, `days` later, in UTC. */
function dayStart(date: string | undefined, days: number): string | undefined {
  if (date === undefined) return undefined;
  const [year = 0, month = 1, day = 1] = date.split("-").map(Number);
  const moment = new Date(year, month - 1, day + days);
  return Number.isNaN(moment.getTime()) ? undefined : moment.toISOString();
}

/** Everything that was done with a job: who, what, when, why, before and after; searched by the server. */
export function AuditLog({ jobId, search, onSearch }: Props) {
  const { q, actor, action, from, to } = search;
  const filter = { job: jobId, q, actor, action, from: dayStart(from, 0), to: dayStart(to, 1) };
  const audit = useInfiniteQuery(auditQuery(filter));
  const pages = audit.data?.pages ?? [];
  const items = pages.flatMap((page) => page.items);
  const back = pages.at(-1)?.searched_back_to ?? null;
  return (
    <section aria-labelledby="audit-title" className={classes.page}>
      <div className={classes.top}>
        <h2 id="audit-title" className={classes.heading}>
          Audit log
        </h2>
        <ExportLinks jobId={jobId} kinds={["audit"]} />
      </div>
      <AuditFilterForm search={search} onSearch={onSearch} />
      {audit.isPending && <LoadingState label="Loading the audit log" rows={4} height={40} />}
      {audit.isError && <ErrorState error={audit.error} onRetry={() => void audit.refetch()} />}
      {audit.data && items.length === 0 && back === null && (
        <EmptyState title="Nothing was found">
          Take a filter away, or look in a longer stretch of time.
        </EmptyState>
      )}
      {items.length > 0 && (
        <ol className={classes.list} aria-label="Audit events">
          {items.map((event) => (
            <AuditRow key={event.id} event={event} />
          ))}
        </ol>
      )}
      {back !== null && (
        <p role="status" className={classes.note}>
          Searched back to <Moment at={back} />.
        </p>
      )}
      {audit.hasNextPage && (
        <Button
          variant="default"
          loading={audit.isFetchingNextPage}
          onClick={() => void audit.fetchNextPage()}
        >
          {back === null ? "Show older" : "Search on"}
        </Button>
      )}
    </section>
  );
}
