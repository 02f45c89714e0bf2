import { Button, Textarea } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useRef, useState, type SyntheticEvent } from "react";

import { hasStatus } from "@/api/problem";
import { previewQuery } from "@/api/queries/mix";
import type { Job, MixVersion } from "@/api/types";
import { ErrorState } from "@/components/page-states";
import { useDebounced } from "@/lib/use-debounced";

import { ConflictPanel } from "./conflict-panel";
import { draftProblem, draftWeights, isChanged } from "./mix-draft";
import classes from "./mix-editor.module.css";
import { PreviewNotes } from "./preview-notes";
import { ScheduleFields } from "./schedule-fields";
import { useMixEdit } from "./use-mix-edit";
import { WeightTable } from "./weight-table";

const MAX_REASON = 500;
const SETTLE_MS = 150;
const INVALID = "[aria-invalid=true]";

interface Props {
  job: Job;
  newest: MixVersion;
  /** A new version was made. */
  onSent: () => void;
}

/** The form that makes a new version of the mix. */
export function MixEditor({ job, newest, onSent }: Props) {
  const order = job.mix.map(({ source }) => source);
  const edit = useMixEdit(job.id, newest, order);
  const [tried, setTried] = useState(false);
  const form = useRef<HTMLFormElement>(null);
  const asked = useDebounced(JSON.stringify(draftWeights(edit.draft)), SETTLE_MS);
  const weights = JSON.parse(asked) as Record<string, number>;
  const preview = useQuery(previewQuery(job.id, edit.draft.basis, weights, edit.parsed.rampSteps));

  const weightProblem = draftProblem(edit.draft);
  const reasonProblem =
    edit.reason.trim() === "" ? "Say why: the reason stands in the history." : null;
  const scheduleProblem = edit.parsed.stepError ?? edit.parsed.rampError;
  const ready =
    weightProblem === null &&
    reasonProblem === null &&
    scheduleProblem === null &&
    edit.theirs === null;

  const submit = (event: SyntheticEvent) => {
    event.preventDefault();
    if (edit.send.isPending) return;
    setTried(!ready);
    if (ready) edit.send.mutate(undefined, { onSuccess: onSent });
    else requestAnimationFrame(() => form.current?.querySelector<HTMLElement>(INVALID)?.focus());
  };
  return (
    <>
      {edit.theirs && (
        <ConflictPanel
          draft={edit.draft}
          theirs={edit.theirs}
          onKeepMine={edit.keepMine}
          onTakeTheirs={edit.takeTheirs}
        />
      )}
      <form
        ref={form}
        className={classes.form}
        onSubmit={submit}
        aria-label="Change the mix"
        noValidate
      >
        <WeightTable draft={edit.draft} preview={preview.data} onDraft={edit.setDraft} />
        <PreviewNotes
          preview={preview.data}
          error={preview.error}
          stale={preview.isPlaceholderData}
        />
        <ScheduleFields
          schedule={edit.schedule}
          parsed={edit.parsed}
          tried={tried}
          currentStep={job.step}
          onSchedule={edit.setSchedule}
        />
        <Textarea
          label="Reason"
          description={`${edit.reason.length} of ${MAX_REASON} characters`}
          required
          maxLength={MAX_REASON}
          autosize={false}
          rows={2}
          value={edit.reason}
          error={tried ? reasonProblem : undefined}
          onChange={(event) => edit.setReason(event.currentTarget.value)}
          onKeyDown={(event) => {
            if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) submit(event);
          }}
        />
        {tried && weightProblem !== null && (
          <p role="alert" className={classes.problem}>
            {weightProblem}
          </p>
        )}
        {edit.send.isError && !hasStatus(edit.send.error, 412) && (
          <ErrorState error={edit.send.error} />
        )}
        {edit.waits && <p role="status">Sent. It waits for somebody else’s approval.</p>}
        <div className={classes.actions}>
          <Button type="submit" loading={edit.send.isPending} disabled={edit.theirs !== null}>
            Send the change
          </Button>
          <Button variant="default" disabled={!isChanged(edit.draft)} onClick={edit.discard}>
            Discard
          </Button>
        </div>
      </form>
    </>
  );
}
