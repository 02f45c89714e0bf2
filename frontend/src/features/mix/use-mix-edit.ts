import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";

import { hasStatus } from "@/api/problem";
import { isWaiting, mixQuery, proposeMix, versionsKey } from "@/api/queries/mix";
import type { MixVersion } from "@/api/types";

import { draftWeights, isChanged, rebaseDraft, startDraft, type MixDraft } from "./mix-draft";
import { NOW, parseSchedule, type Schedule } from "./mix-schedule";

/**
 * An edit of the mix from its first change until it is sent. `newest` is the newest version as it comes in live:
 * an untouched edit follows it; a touched one stays, and `theirs` is then the version it collides with.
 */
export function useMixEdit(jobId: string, newest: MixVersion, order: readonly string[]) {
  const client = useQueryClient();
  const [draft, setDraft] = useState<MixDraft>(() => startDraft(newest, order));
  const [schedule, setSchedule] = useState<Schedule>(NOW);
  const [reason, setReason] = useState("");
  const parsed = parseSchedule(schedule);

  const reset = (version: MixVersion) => {
    setDraft(startDraft(version, order));
    setSchedule(NOW);
    setReason("");
  };

  const send = useMutation({
    mutationFn: () =>
      proposeMix(jobId, draft.basis, {
        weights: draftWeights(draft),
        reason: reason.trim(),
        from_step: parsed.fromStep,
        ramp_steps: parsed.rampSteps,
      }),
    onSuccess: (version) => {
      if (isWaiting(version)) {
        reset(newest);
        return;
      }
      // An event may have told of it, and of its later life, before this answer came.
      client.setQueryData(mixQuery(jobId).queryKey, (old) =>
        old !== undefined && old.version >= version.version ? old : version,
      );
      void client.invalidateQueries({ queryKey: versionsKey(jobId) });
      reset(version);
    },
    onError: (error) => {
      // Brings in what the other editor made; the edit itself stays as it is.
      if (!hasStatus(error, 412)) return;
      if (error.body.current) client.setQueryData(mixQuery(jobId).queryKey, error.body.current);
      else void client.invalidateQueries({ queryKey: mixQuery(jobId).queryKey });
    },
  });

  const behind = newest.version > draft.basis && !send.isPending;
  // Sources may have been added meanwhile, so an untouched edit begins anew rather than moving its basis.
  if (behind && !isChanged(draft)) setDraft(startDraft(newest, order));

  return {
    draft,
    setDraft,
    schedule,
    setSchedule,
    parsed,
    reason,
    setReason,
    send,
    waits: send.isSuccess && isWaiting(send.data),
    theirs: behind && isChanged(draft) ? newest : null,
    keepMine: () => {
      setDraft(rebaseDraft(draft, newest));
      send.reset();
    },
    takeTheirs: () => {
      reset(newest);
      send.reset();
    },
    discard: () => reset(newest),
  };
}
