import { useQuery } from "@tanstack/react-query";
import { useDeferredValue, useMemo } from "react";

import { jobQuery } from "@/api/queries/job";
import { ranksPaceMs, ranksQuery } from "@/api/queries/ranks";
import type { Job, RankState } from "@/api/types";
import { EmptyState, ErrorState, LoadingState } from "@/components/page-states";
import { formatCount, plural } from "@/lib/format";

import { HeatMap } from "./heat-map";
import { rankColumns } from "./rank-columns";
import { RanksFilter } from "./ranks-filter";
import classes from "./ranks-page.module.css";
import { ranksSearch, type RanksSearch } from "./ranks-search";
import { RanksTable } from "./ranks-table";
import { filterRanks, sortRanks } from "./sort-ranks";

interface Props {
  jobId: string;
  search: RanksSearch;
  onSearch: (search: RanksSearch) => void;
  onOpen: (rank: number) => void;
}

/** Where each rank is, how it does and what it reads: all of them as a map, and as a table with the slowest first. */
export function RanksPage({ jobId, ...rest }: Props) {
  const ranks = useQuery(ranksQuery(jobId));
  const job = useQuery(jobQuery(jobId));
  if (ranks.isPending || job.isPending) return <LoadingState label="Loading the ranks" rows={8} />;
  if (ranks.data === undefined)
    return <ErrorState error={ranks.error} onRetry={() => void ranks.refetch()} />;
  if (job.data === undefined)
    return <ErrorState error={job.error} onRetry={() => void job.refetch()} />;
  if (ranks.data.items.length === 0) {
    return (
      <EmptyState title="No rank has reported yet">
        Ranks appear with their first report.
      </EmptyState>
    );
  }
  return <ReportedRanks job={job.data} all={ranks.data.items} {...rest} />;
}

interface ReportedProps extends Omit<Props, "jobId"> {
  job: Job;
  all: readonly RankState[];
}

const NONE: readonly RankState[] = [];
const SECOND_MS = 1000;
/** Up to this pace nobody needs to be told of it. */
const LIVE_MS = 2000;

function ReportedRanks({ job, all, search, onSearch, onOpen }: ReportedProps) {
  // Thousands of ranks, at first, anew or in another order, are drawn in slices that give way to the reader.
  const ranks = useDeferredValue(all, NONE);
  const { sort, up, q, state, host } = useDeferredValue(search);
  const filtered = useMemo(() => filterRanks(ranks, { q, state, host }), [ranks, q, state, host]);
  const sorted = useMemo(() => sortRanks(filtered, { sort, up }), [filtered, sort, up]);
  const isFiltered = filtered.length < ranks.length;
  const shown = useMemo(
    () => (isFiltered ? new Set(filtered.map(({ rank }) => rank)) : null),
    [filtered, isFiltered],
  );
  const columns = useMemo(
    () => rankColumns({ job, onHost: (name) => onSearch(ranksSearch({ ...search, host: name })) }),
    [job, search, onSearch],
  );
  if (ranks === NONE) return <LoadingState label="Drawing the ranks" rows={8} />;
  const paceMs = ranksPaceMs(ranks.length);
  return (
    <>
      <HeatMap
        jobId={job.id}
        ranks={ranks}
        numRanks={job.ranks_total}
        shown={shown}
        metric={search.metric ?? "state"}
        onMetric={(metric) => onSearch(ranksSearch({ ...search, metric }))}
        onOpen={onOpen}
      />
      <div className={classes.bar}>
        <div>
          <h2>
            {isFiltered
              ? `${formatCount(sorted.length)} of ${plural(ranks.length, "rank")}`
              : plural(ranks.length, "rank")}
          </h2>
          {paceMs > LIVE_MS && (
            <p className={classes.note}>
              So many report seldom; shown anew each {Math.round(paceMs / SECOND_MS)} s.
            </p>
          )}
        </div>
        <RanksFilter ranks={ranks} search={search} onSearch={onSearch} />
      </div>
      {sorted.length === 0 ? (
        <EmptyState title="No rank matches">Change the filter.</EmptyState>
      ) : (
        <RanksTable ranks={sorted} columns={columns} search={search} onSearch={onSearch} />
      )}
    </>
  );
}
