import { Button } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";

import { jobQuery } from "@/api/queries/job";
import { ranksQuery } from "@/api/queries/ranks";
import { EmptyState, ErrorState, LoadingState } from "@/components/page-states";
import { SearchBox } from "@/components/search-box";
import { plural } from "@/lib/format";

import { rankColumns } from "./rank-columns";
import classes from "./ranks-page.module.css";
import { ranksSearch, type RanksSearch } from "./ranks-search";
import { RanksTable } from "./ranks-table";
import { arrangeRanks } from "./sort-ranks";

interface Props {
  jobId: string;
  search: RanksSearch;
  onSearch: (search: RanksSearch) => void;
}

/** Where each rank is, how it does and what it reads; the slowest first. */
export function RanksPage({ jobId, search, onSearch }: Props) {
  const ranks = useQuery(ranksQuery(jobId));
  const job = useQuery(jobQuery(jobId));
  const sources = job.data?.mix;
  const columns = useMemo(
    () => rankColumns((sources ?? []).map(({ source }) => source)),
    [sources],
  );
  const all = ranks.data?.items;
  const shown = useMemo(() => arrangeRanks(all ?? [], search), [all, search]);

  if (ranks.isPending) return <LoadingState label="Loading the ranks" rows={8} />;
  if (all === undefined)
    return <ErrorState error={ranks.error} onRetry={() => void ranks.refetch()} />;
  if (all.length === 0) {
    return (
      <EmptyState title="No rank has reported yet">
        Ranks appear with their first report.
      </EmptyState>
    );
  }
  return (
    <>
      <div className={classes.bar}>
        <h2>
          {shown.length === all.length
            ? plural(all.length, "rank")
            : `${shown.length} of ${plural(all.length, "rank")}`}
        </h2>
        <div className={classes.tools}>
          {search.sort !== undefined && (
            <Button variant="default" onClick={() => onSearch(ranksSearch({ q: search.q }))}>
              Slowest first
            </Button>
          )}
          <SearchBox
            label="Filter by rank, state or host"
            placeholder="Rank, state or host"
            value={search.q ?? ""}
            onSettle={(q) => onSearch(ranksSearch({ ...search, q }))}
          />
        </div>
      </div>
      {shown.length === 0 ? (
        <EmptyState title="No rank matches">Change the filter.</EmptyState>
      ) : (
        <RanksTable ranks={shown} columns={columns} search={search} onSearch={onSearch} />
      )}
    </>
  );
}
