import { useQuery } from "@tanstack/react-query";

import { jobQuery } from "@/api/queries/job";
import { LoadingState } from "@/components/page-states";

import { AttemptsTable } from "./attempts-table";
import { ChartsBar } from "./charts-bar";
import type { ChartsSearch } from "./charts-search";
import { JobCharts } from "./job-charts";
import { SourcesTable } from "./sources-table";

interface Props {
  jobId: string;
  search: ChartsSearch;
  onSearch: (search: ChartsSearch) => void;
}

/** The job's sources, its charts under one x axis, and its starts. */
export function JobPage({ jobId, search, onSearch }: Props) {
  const job = useQuery(jobQuery(jobId));
  if (job.data === undefined) return <LoadingState label="Loading the job" rows={2} height={260} />;
  return (
    <>
      <SourcesTable job={job.data} />
      <ChartsBar job={job.data} search={search} onSearch={onSearch} />
      <JobCharts job={job.data} search={search} onSearch={onSearch} />
      <AttemptsTable jobId={jobId} />
    </>
  );
}
