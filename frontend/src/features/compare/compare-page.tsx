import { NativeSelect } from "@mantine/core";
import { useQueries } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";

import type { Range } from "@/api/queries/figure";
import { jobQuery } from "@/api/queries/job";
import type { Job } from "@/api/types";
import { AxisBar, AxisChoice, ShownRange } from "@/charts/axis-bar";
import { chosenRange, searchOf } from "@/charts/chart-search";
import { EmptyState, LoadingState } from "@/components/page-states";
import { plural } from "@/lib/format";
import { useDocumentTitle } from "@/lib/use-document-title";

import classes from "./compare-page.module.css";
import {
  AXES,
  compareSearch,
  METRICS,
  readIds,
  type CompareMetric,
  type CompareSearch,
} from "./compare-search";
import { ComparedJobs, type ComparedJob } from "./compared-jobs";
import { ComparisonCharts } from "./comparison-charts";
import { DifferenceTable } from "./difference-table";
import { configRows, mixRows } from "./differences";

interface Props {
  search: CompareSearch;
  onSearch: (search: CompareSearch) => void;
}

const METRIC_LABELS: Record<CompareMetric, string> = {
  tokens_per_s: "Throughput",
  wait_share: "Data wait",
  loss: "Loss",
  share: "Realised share",
};

/** Two to ten jobs on one axis, and what of their mix and configuration differs. */
export function ComparePage({ search, onSearch }: Props) {
  useDocumentTitle("Compare");
  const { ids, left } = readIds(search.jobs);
  const queries = useQueries({ queries: ids.map((id) => jobQuery(id)) });
  const compared: ComparedJob[] = ids.map((id, place) => ({
    id,
    job: queries[place]?.data,
    error: queries[place]?.error ?? null,
    retry: () => void queries[place]?.refetch(),
  }));
  const jobs = compared.flatMap(({ job }) => (job === undefined ? [] : [job]));
  const remove = (gone: string) =>
    onSearch({ ...search, jobs: ids.filter((id) => id !== gone).join(",") });
  const isLoading = compared.some(({ job, error }) => job === undefined && error === null);
  return (
    <>
      <h1 className={classes.title}>Compare</h1>
      {ids.length === 0 ? (
        <NothingChosen />
      ) : (
        <ComparedJobs compared={compared} left={left} onRemove={remove} />
      )}
      {isLoading && <LoadingState label="Loading the jobs" rows={3} height={120} />}
      {!isLoading && jobs.length > 0 && (
        <Comparison jobs={jobs} search={search} onSearch={onSearch} />
      )}
    </>
  );
}

function NothingChosen() {
  return (
    <EmptyState title="No job chosen">
      Choose two to ten jobs in <Link to="/jobs">the list</Link>, then “Compare”.
    </EmptyState>
  );
}

function Comparison({ jobs, search, onSearch }: Props & { jobs: readonly Job[] }) {
  const sources = [...new Set(jobs.flatMap((job) => job.sources.map(({ name }) => name)))];
  const source = sources.find((name) => name === search.source) ?? sources[0] ?? "";
  const change = (next: Partial<CompareSearch>) => onSearch({ ...search, ...next });
  const x = search.x ?? "step";
  const range = chosenRange(search);
  const onRange = (next: Range | null) =>
    onSearch(compareSearch({ ...search, from: null, to: null, ...searchOf(next) }));
  return (
    <>
      <AxisBar>
        <AxisChoice
          axes={AXES}
          x={x}
          // A range of the one axis means nothing on the other.
          onAxis={(next) => onSearch(compareSearch({ ...search, x: next, from: null, to: null }))}
        />
        <NativeSelect
          aria-label="Figures"
          value={search.metric ?? ""}
          onChange={(event) =>
            onSearch(compareSearch({ ...search, metric: event.currentTarget.value }))
          }
          data={[
            { value: "", label: "All figures" },
            ...METRICS.map((value) => ({ value, label: METRIC_LABELS[value] })),
          ]}
        />
        <NativeSelect
          aria-label="Source of the figures by source"
          value={source}
          onChange={(event) => change({ source: event.currentTarget.value })}
          data={sources.map((name) => ({ value: name, label: `Source: ${name}` }))}
        />
        <ShownRange x={x} range={range} onRange={onRange} />
      </AxisBar>
      <ComparisonCharts
        jobs={jobs}
        x={x}
        metric={search.metric}
        source={source}
        range={range}
        onRange={onRange}
      />
      {jobs.length > 1 && (
        <>
          <DifferenceTable title="Mix in force" noun="source" jobs={jobs} rows={mixRows(jobs)} />
          <DifferenceTable
            title="Configuration"
            noun="setting"
            jobs={jobs}
            rows={configRows(jobs)}
          />
        </>
      )}
      {jobs.length === 1 && (
        <p className={classes.none}>{plural(1, "job")} alone has nothing to differ from.</p>
      )}
    </>
  );
}
