import { useMutation, useQueryClient } from "@tanstack/react-query";

import { errorMessage } from "@/api/problem";
import { changeJob } from "@/api/queries/job";
import type { JobListed } from "@/api/types";
import { QuietButton } from "@/components/quiet-button";

/** Takes a job off the list, or back onto it. Nothing is lost, so nobody is asked twice. */
export function ArchiveButton({ job }: { job: JobListed }) {
  const client = useQueryClient();
  const change = useMutation({
    mutationFn: (archived: boolean) => changeJob(job.id, { archived }),
    onSuccess: () => client.invalidateQueries({ queryKey: ["jobs"] }),
  });
  const verb = job.archived ? "Restore" : "Archive";
  return (
    <>
      <QuietButton
        disabled={change.isPending}
        aria-label={`${verb} ${job.name}`}
        onClick={() => change.mutate(!job.archived)}
      >
        {verb}
      </QuietButton>
      {change.isError && <span role="alert">{errorMessage(change.error)}</span>}
    </>
  );
}
