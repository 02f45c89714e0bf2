import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useEffect, useState } from "react";

import { hasStatus } from "@/api/problem";
import { changesKey, scheduleMix } from "@/api/queries/changes";
import { isWaiting, mixQuery, proposeMix, versionsKey } from "@/api/queries/mix";
import type { Job, MixChange, MixVersion } from "@/api/types";
import { keep, readKept } from "@/lib/kept";
import { useNow } from "@/lib/use-now";

import {
  draftOf,
  draftWeights,
  isChanged,
  mergeDraft,
  rebaseDraft,
  startDraft,
  type MixDraft,
} from "./mix-draft";
import { localFieldText, NOW, parseSchedule, type Schedule } from "./mix-schedule";
import { hasWords, isEditState, withSources, type MixEditState } from "./stored-edit";

const SCHEDULE_NOW_MS = 5000;

/** What `change` asked for, to be sent anew on top of `version` in its place. */
function takenUp(change: MixChange, version: MixVersion, order: readonly string[]): MixEditState {
  const schedule = {
    ...NOW,
    ramp: String(change.ramp_steps),
    ...(change.starts === "step" && { when: "at-step" as const, step: String(change.at_step) }),
    ...(change.starts === "time" &&
      change.at !== null && {
        when: "at-time" as const,
        time: localFieldText(new Date(change.at)),
      }),
  };
  const draft = draftOf(version, order, change.weights_ppm);
  return { draft, schedule, reason: change.reason, replaces: change.id };
}

/**
 * An edit of the mix from its first change until it is sent; it survives a reload and a new login of `username` in
 * this tab. `newest` is the newest version as it comes in live: an untouched edit follows it; a touched one stays, and
 * `theirs` is then the version it collides with.
 */
export function useMixEdit(job: Job, newest: MixVersion, username: string) {
  const client = useQueryClient();
  const order = job.mix.map(({ source }) => source);
  const name = `mix:${job.id}`;
  const fresh = (version: MixVersion): MixEditState => ({
    draft: startDraft(version, order),
    schedule: NOW,
    reason: "",
    replaces: null,
  });
  const [edit, setEdit] = useState<MixEditState>(() => {
    const kept = readKept(username, name, isEditState);
    return kept === null ? fresh(newest) : withSources(kept, order);
  });
  const [restored, setRestored] = useState(() => isChanged(edit.draft) || hasWords(edit));
  const now = useNow(SCHEDULE_NOW_MS);
  const parsed = parseSchedule(edit.schedule, job.step, now);
  const touched = isChanged(edit.draft) || hasWords(edit);
  useEffect(() => keep(username, name, touched ? edit : null), [username, name, touched, edit]);

  const set = (change: Partial<MixEditState>) => setEdit((old) => ({ ...old, ...change }));
  const reset = (version: MixVersion) => {
    setEdit(fresh(version));
    setRestored(false);
  };

  const send = useMutation({
    mutationFn: (): Promise<MixVersion | MixChange> => {
      const { draft, reason, replaces } = edit;
      const body = {
        weights: draftWeights(draft),
        reason: reason.trim(),
        ramp_steps: parsed.rampSteps,
        ...(replaces !== null && { replaces }),
      };
      if (parsed.atStep !== null)
        return scheduleMix(job.id, draft.basis, { ...body, at_step: parsed.atStep });
      if (parsed.at !== null) return scheduleMix(job.id, draft.basis, { ...body, at: parsed.at });
      return proposeMix(job.id, draft.basis, body);
    },
    onSuccess: (made) => {
      void client.invalidateQueries({ queryKey: changesKey(job.id) });
      if (isWaiting(made)) {
        reset(newest);
        return;
      }
      // An event may have told of it, and of its later life, before this answer came.
      client.setQueryData(mixQuery(job.id).queryKey, (old) =>
        old !== undefined && old.version >= made.version ? old : made,
      );
      void client.invalidateQueries({ queryKey: versionsKey(job.id) });
      reset(made);
    },
    onError: (error) => {
      // Brings in what the other editor made; the edit itself stays as it is.
      if (!hasStatus(error, 412)) return;
      if (error.body.current) client.setQueryData(mixQuery(job.id).queryKey, error.body.current);
      else void client.invalidateQueries({ queryKey: mixQuery(job.id).queryKey });
    },
  });

  const behind = newest.version > edit.draft.basis && !send.isPending;
  // Sources may have been added meanwhile, so an untouched edit begins anew rather than moving its basis.
  if (behind && !isChanged(edit.draft)) set({ draft: startDraft(newest, order) });
  const solve = (solved: MixEditState) => {
    setEdit(solved);
    send.reset();
  };

  return {
    ...edit,
    setDraft: (draft: MixDraft) => set({ draft }),
    setSchedule: (schedule: Schedule) => set({ schedule }),
    setReason: (reason: string) => set({ reason }),
    dropReplaces: () => set({ replaces: null }),
    parsed,
    send,
    touched,
    /** The edit was found in this tab, from before a reload or a login. */
    restored: restored && touched,
    theirs: behind && isChanged(edit.draft) ? newest : null,
    keepMine: () => solve({ ...edit, draft: rebaseDraft(edit.draft, newest) }),
    merge: () => solve({ ...edit, draft: mergeDraft(edit.draft, newest) }),
    takeTheirs: () => {
      reset(newest);
      send.reset();
    },
    takeUp: (change: MixChange) => solve(takenUp(change, newest, order)),
    discard: () => reset(newest),
  };
}

/** An edit of the mix, and what can be done with it. */
export type MixEditing = ReturnType<typeof useMixEdit>;
