import { Button } from "@mantine/core";
import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { useCallback, useDeferredValue, useMemo, useState } from "react";

import { useMay } from "@/api/permissions";
import { jobsQuery } from "@/api/queries/jobs";
import { projectsQuery } from "@/api/queries/projects";
import { EmptyState, ErrorState, LoadingState } from "@/components/page-states";
import { useDocumentTitle } from "@/lib/use-document-title";

import { CompareBar, MAX_COMPARED } from "./compare-bar";
import { JobsFilter } from "./jobs-filter";
import classes from "./jobs-page.module.css";
import { isFiltered, type JobsSearch } from "./jobs-search";
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
      <h1 className={classes.title}>Jobs</h1>
      <JobsFilter
        search={search}
        onSearch={onSearch}
        projects={projects.data?.map(({ name }) => name) ?? []}
        project={project}
      />
      {projects.isError && (
        <ErrorState error={projects.error} onRetry={() => void projects.refetch()} />
      )}
      {projects.isPending && <LoadingState label="Loading the projects" rows={6} height={52} />}
      {projects.isSuccess && project === undefined && (
        <EmptyState title="You are a member of no project">Ask its owner to add you.</EmptyState>
      )}
      {project !== undefined && <JobList key={project} project={project} search={search} />}
    </>
  );
}

/** The first and the last moment of a day in the reader's zone; nothing for no day. */
const begins = (day: string | undefined) => day && new Date(`${day}T00:00:00`).toISOString();
const ends = (day: string | undefined) => day && new Date(`${day}T23:59:59.999`).toISOString();

function JobList({ project, search }: { project: string; search: JobsSearch }) {
  const { q, state, owner, tag, archived } = search;
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set());
  const mayOperate = useMay(project, "operate");
  const choose = useCallback((id: string, selected: boolean) => {
    setChosen((before) => {
      const after = new Set(before);
      if (selected) after.add(id);
      else after.delete(id);
      return after;
    });
  }, []);
  const created = { createdFrom: begins(search.from), createdTo: ends(search.to) };
  const jobs = useInfiniteQuery(jobsQuery({ project, q, state, owner, tag, archived, ...created }));
  // A second's events move every row: they are drawn in slices, with the reader's own input in between.
  const pages = useDeferredValue(jobs.data?.pages);
  const items = useMemo(() => pages?.flatMap((page) => page.items), [pages]);
  if (jobs.isError && jobs.data === undefined) {
    return <ErrorState error={jobs.error} onRetry={() => void jobs.refetch()} />;
  }
  if (jobs.isPending || items === undefined)
    return <LoadingState label="Loading the jobs" rows={6} height={52} />;
  return (
    <>
      <CompareBar ids={[...chosen]} onClear={() => setChosen(new Set())} />
      {items.length === 0 ? (
        <NoJobs search={search} />
      ) : (
        <JobsTable
          jobs={items}
          selected={chosen}
          maxSelected={MAX_COMPARED}
          onSelect={choose}
          mayOperate={mayOperate}
        />
      )}
      {!mayOperate && (
        <p className={classes.note}>
          You may look at the jobs of {project}. Operators of the project edit tags and archive.
        </p>
      )}
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

function NoJobs({ search }: { search: JobsSearch }) {
  if (isFiltered(search))
    return <EmptyState title="No job matches">Change the filter, or clear it.</EmptyState>;
  return (
    <EmptyState title="No job yet">
      A job appears here when a training script with <code>Loader(job="name", …)</code> starts and{" "}
      <code>HEADRACE_URL</code> and <code>HEADRACE_TOKEN</code> are set; <code>make demo</code>{" "}
      starts one.
    </EmptyState>
  );
}
