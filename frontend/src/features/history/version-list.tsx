import { Button } from "@mantine/core";
import { useInfiniteQuery, useQuery } from "@tanstack/react-query";

import { useMay } from "@/api/permissions";
import { attemptsQuery } from "@/api/queries/attempts";
import { jobQuery } from "@/api/queries/job";
import { activationsQuery, versionsQuery } from "@/api/queries/mix";
import { sessionQuery } from "@/api/queries/session";
import { ErrorState, LoadingState } from "@/components/page-states";
import { plural } from "@/lib/format";

import { ExportLinks } from "./export-links";
import classes from "./history-page.module.css";
import { VersionRow } from "./version-row";

/** Every version of the mix, newest first: who made it, when, why, what it changed and where it took effect. */
export function VersionList({ jobId }: { jobId: string }) {
  const versions = useInfiniteQuery(versionsQuery(jobId));
  const job = useQuery(jobQuery(jobId));
  const session = useQuery(sessionQuery());
  const activations = useQuery(activationsQuery(jobId));
  const attempts = useQuery(attemptsQuery(jobId));
  const mayRevert = useMay(job.data?.project ?? "", "operate");
  if (versions.isPending) return <LoadingState label="Loading the versions" rows={4} height={96} />;
  if (versions.data === undefined) {
    return <ErrorState error={versions.error} onRetry={() => void versions.refetch()} />;
  }
  const items = versions.data.pages.flatMap((page) => page.items);
  const byNumber = new Map(items.map((item) => [item.version, item]));
  const newest = items[0];
  return (
    <section aria-labelledby="history-title" className={classes.page}>
      <div className={classes.top}>
        <h2 id="history-title" className={classes.heading}>
          {newest ? plural(newest.version, "version") : "No version"} of the mix
        </h2>
        <ExportLinks jobId={jobId} kinds={["mix", "activations"]} />
      </div>
      {job.data && !mayRevert && (
        <p className={classes.note}>
          You may look and not revert: that takes an operator, an approver or an admin of{" "}
          {job.data.project}.
        </p>
      )}
      <ol className={classes.list}>
        {newest &&
          items.map((version) => (
            <VersionRow
              key={version.version}
              jobId={jobId}
              version={version}
              parent={version.parent === null ? undefined : byNumber.get(version.parent)}
              newest={newest}
              activations={(activations.data ?? []).filter(
                (activation) => activation.version === version.version,
              )}
              attempts={attempts.data ?? []}
              reader={mayRevert ? (session.data?.user.username ?? null) : null}
            />
          ))}
      </ol>
      {versions.hasNextPage && (
        <Button
          variant="default"
          loading={versions.isFetchingNextPage}
          onClick={() => void versions.fetchNextPage()}
        >
          Show older
        </Button>
      )}
    </section>
  );
}
