import { Button } from "@mantine/core";
import { useInfiniteQuery, useQuery } from "@tanstack/react-query";

import { jobsQuery } from "@/api/queries/jobs";
import { projectsQuery } from "@/api/queries/projects";
import { EmptyState, ErrorState, LoadingState } from "@/components/page-states";
import { useDocumentTitle } from "@/lib/use-document-title";

import { JobsFilter } from "./jobs-filter";
import classes from "./jobs-page.module.css";
import type { JobsSearch } from "./jobs-search";
import { JobsTable } from "./jobs-table";

interface Props {
  search: JobsSearch;
  onSearch: (search: JobsSearch) => void;
}

/** Every job of the project at a glance, newest first. */
export function JobsPage({ search, onSearch }: Props) {
  useDocumentTitle("Jobs");
  const projects = useQuery(projectsQuery());
  const project = search.project ?? projects.data?.[0]?.name;
  return (
    <>
      <div className={classes.top}>
        <h1>Jobs</h1>
        <JobsFilter search={search} onSearch={onSearch} />
      </div>
      {projects.isError && (
        <ErrorState error={projects.error} onRetry={() => void projects.refetch()} />
      )}
      {projects.isPending && <LoadingState label="Loading the projects" rows={6} height={52} />}
      {projects.isSuccess && project === undefined && (
        <EmptyState title="You are a member of no project">Ask its owner to add you.</EmptyState>
      )}
      {project !== undefined && <JobList project={project} search={search} />}
    </>
  );
}

function JobList({ project, search }: { project: string; search: JobsSearch }) {
  const jobs = useInfiniteQuery(jobsQuery({ project, q: search.q, state: search.state }));
  if (jobs.isPending) return <LoadingState label="Loading the jobs" rows={6} height={52} />;
  if (jobs.isError && jobs.data === undefined) {
    return <ErrorState error={jobs.error} onRetry={() => void jobs.refetch()} />;
  }
  const items = jobs.data.pages.flatMap((page) => page.items);
  if (items.length === 0)
    return <NoJobs filtered={search.q !== undefined || search.state !== undefined} />;
  return (
    <>
      <JobsTable jobs={items} />
      {jobs.hasNextPage && (
        <Button
          variant="default"
          mt="md"
          loading={jobs.isFetchingNextPage}
          onClick={() => void jobs.fetchNextPage()}
        >
          Show more
        </Button>
      )}
    </>
  );
}

function NoJobs({ filtered }: { filtered: boolean }) {
  if (filtered)
    return <EmptyState title="No job matches">Change the search or the state.</EmptyState>;
  return (
    <EmptyState title="No job yet">
      A job appears here when a training script with <code>Loader(job="name", …)</code> starts and{" "}
      <code>HEADRACE_URL</code> and <code>HEADRACE_TOKEN</code> are set; <code>make demo</code>{" "}
      starts one.
    </EmptyState>
  );
}
