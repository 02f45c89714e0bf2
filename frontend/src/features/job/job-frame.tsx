import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";

import { jobQuery } from "@/api/queries/job";
import { ErrorState, LoadingState } from "@/components/page-states";
import tabs from "@/components/tabs.module.css";
import { useDocumentTitle } from "@/lib/use-document-title";

import classes from "./job-frame.module.css";
import { JobHeader } from "./job-header";

const TABS = [
  { to: "/jobs/$jobId", label: "Overview", exact: true },
  { to: "/jobs/$jobId/ranks", label: "Ranks", exact: false },
  { to: "/jobs/$jobId/mix", label: "Mix", exact: false },
  { to: "/jobs/$jobId/history", label: "History", exact: false },
  { to: "/jobs/$jobId/trace", label: "Trace", exact: false },
] as const;

/** What every page of a job has above it: how the job is doing, and the way to its other pages. */
export function JobFrame({ jobId, children }: { jobId: string; children: ReactNode }) {
  const job = useQuery(jobQuery(jobId));
  useDocumentTitle(job.data?.name ?? "Job");
  if (job.isPending) return <LoadingState label="Loading the job" rows={3} height={64} />;
  if (job.data === undefined)
    return <ErrorState error={job.error} onRetry={() => void job.refetch()} />;
  return (
    <>
      <JobHeader job={job.data} />
      <nav aria-label="Job" className={`${tabs.tabs} ${classes.tabs}`}>
        {TABS.map(({ to, label, exact }) => (
          <Link
            key={to}
            to={to}
            params={{ jobId }}
            className={tabs.tab}
            activeOptions={{ exact, includeSearch: false }}
          >
            {label}
          </Link>
        ))}
      </nav>
      {children}
    </>
  );
}
