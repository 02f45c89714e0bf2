import { useQuery } from "@tanstack/react-query";
import { useRef } from "react";

import { may } from "@/api/permissions";
import { changeQuery } from "@/api/queries/changes";
import { jobQuery } from "@/api/queries/job";
import { mixQuery } from "@/api/queries/mix";
import { sessionQuery } from "@/api/queries/session";
import type { MixVersion } from "@/api/types";
import { LifeTrack } from "@/components/life-track";
import { ErrorState, LoadingState } from "@/components/page-states";

import { ChangeList } from "./change-list";
import classes from "./mix-editor.module.css";
import { MixView } from "./mix-view";
import { MixWorkbench } from "./mix-workbench";

/** The newest version and its life, the changes that wait, and the form that makes the next. */
export function MixPage({ jobId }: { jobId: string }) {
  const job = useQuery(jobQuery(jobId));
  const newest = useQuery(mixQuery(jobId));
  const session = useQuery(sessionQuery());
  const heading = useRef<HTMLHeadingElement>(null);
  const waitingHeading = useRef<HTMLHeadingElement>(null);
  if (newest.data === undefined || job.data === undefined || session.data == null) {
    const error = newest.error ?? job.error ?? session.error;
    if (error === null) return <LoadingState label="Loading the mix" rows={4} height={48} />;
    return <ErrorState error={error} onRetry={() => void newest.refetch()} />;
  }
  const rights = {
    username: session.data.user.username,
    operate: may(session.data, job.data.project, "operate"),
    approve: may(session.data, job.data.project, "approve"),
  };
  return (
    <div className={classes.page}>
      <section aria-labelledby="newest-title">
        <h2 id="newest-title" ref={heading} tabIndex={-1} className={classes.heading}>
          Newest version
        </h2>
        <div className={classes.newest}>
          <NewestLife jobId={jobId} version={newest.data} />
        </div>
      </section>
      {rights.operate ? (
        <MixWorkbench job={job.data} newest={newest.data} rights={rights} newestHeading={heading} />
      ) : (
        <>
          <ChangeList
            job={job.data}
            newest={newest.data}
            rights={rights}
            heading={waitingHeading}
          />
          <section aria-labelledby="weights-title">
            <h2 id="weights-title" className={classes.heading}>
              Weights
            </h2>
            <MixView job={job.data} newest={newest.data} />
          </section>
        </>
      )}
    </div>
  );
}

/** The life of a version from the change on that it was, where it was one. */
function NewestLife({ jobId, version }: { jobId: string; version: MixVersion }) {
  const change = useQuery({
    ...changeQuery(jobId, version.change ?? ""),
    enabled: version.change !== null,
  });
  return <LifeTrack version={version} change={version.change === null ? undefined : change.data} />;
}
