import { useQuery } from "@tanstack/react-query";
import { useRef } from "react";

import { jobQuery } from "@/api/queries/job";
import { mixQuery } from "@/api/queries/mix";
import { LifeTrack } from "@/components/life-track";
import { ErrorState, LoadingState } from "@/components/page-states";

import { MixEditor } from "./mix-editor";
import classes from "./mix-editor.module.css";

/** The newest version and its life, and the form that makes the next. */
export function MixPage({ jobId }: { jobId: string }) {
  const job = useQuery(jobQuery(jobId));
  const newest = useQuery(mixQuery(jobId));
  const heading = useRef<HTMLHeadingElement>(null);
  if (newest.data === undefined || job.data === undefined) {
    const error = newest.error ?? job.error;
    if (error === null) return <LoadingState label="Loading the mix" rows={4} height={48} />;
    return <ErrorState error={error} onRetry={() => void newest.refetch()} />;
  }
  return (
    <div className={classes.page}>
      <section aria-labelledby="newest-title">
        <h2 id="newest-title" ref={heading} tabIndex={-1} className={classes.heading}>
          Newest version
        </h2>
        <div className={classes.newest}>
          <LifeTrack version={newest.data} />
        </div>
      </section>
      <section aria-labelledby="change-title">
        <h2 id="change-title" className={classes.heading}>
          Change the mix
        </h2>
        <MixEditor job={job.data} newest={newest.data} onSent={() => heading.current?.focus()} />
      </section>
    </div>
  );
}
