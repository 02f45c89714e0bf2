import { Button } from "@mantine/core";
import { useInfiniteQuery } from "@tanstack/react-query";

import { versionsQuery } from "@/api/queries/mix";
import { ErrorState, LoadingState } from "@/components/page-states";
import { plural } from "@/lib/format";

import classes from "./history-page.module.css";
import { VersionRow } from "./version-row";

/** Every version of the mix, newest first: who made it, when, why and what it changed; each can be made again. */
export function HistoryPage({ jobId }: { jobId: string }) {
  const versions = useInfiniteQuery(versionsQuery(jobId));
  if (versions.isPending) return <LoadingState label="Loading the versions" rows={4} height={96} />;
  if (versions.data === undefined) {
    return <ErrorState error={versions.error} onRetry={() => void versions.refetch()} />;
  }
  const items = versions.data.pages.flatMap((page) => page.items);
  const byNumber = new Map(items.map((item) => [item.version, item]));
  const newest = items[0];
  return (
    <section aria-labelledby="history-title" className={classes.page}>
      <h2 id="history-title" className={classes.heading}>
        {newest ? plural(newest.version, "version") : "No version"} of the mix
      </h2>
      <ol className={classes.list}>
        {newest &&
          items.map((version) => (
            <VersionRow
              key={version.version}
              jobId={jobId}
              version={version}
              parent={version.parent === null ? undefined : byNumber.get(version.parent)}
              newest={newest}
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
