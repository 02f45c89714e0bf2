import { Button, Textarea } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useRef, useState, type KeyboardEvent, type SyntheticEvent } from "react";

import { hasStatus } from "@/api/problem";
import { previewQuery } from "@/api/queries/mix";
import type { Job, MixChange, MixVersion } from "@/api/types";
import { ErrorState } from "@/components/page-states";
import { useDebounced } from "@/lib/use-debounced";

import { EditNotes } from "./edit-notes";
import type { Flow } from "./flow";
import { KeyboardHelp } from "./keyboard-help";
import { draftProblem, draftWeights } from "./mix-draft";
import classes from "./mix-editor.module.css";
import { PreviewNotes } from "./preview-notes";
import { ScheduleFields } from "./schedule-fields";
import type { MixEditing } from "./use-mix-edit";
import { WeightTable } from "./weight-table";

const MAX_REASON = 500;
const SETTLE_MS = 150;
const INVALID = "[aria-invalid=true]";

interface Props {
  job: Job;
  newest: MixVersion;
  edit: MixEditing;
  /** The project asks for a second person. */
  approval: boolean;
  /** A version was made, or a change that waits. */
  onSent: (made: MixVersion | MixChange) => void;
  onFlow: (source: string, flow: Flow) => void;
}

/** The form that makes a new version of the mix, or a change that waits to become one. */
export function MixEditor({ job, newest, edit, approval, onSent, onFlow }: Props) {
  const [tried, setTried] = useState(false);
  const form = useRef<HTMLFormElement>(null);
  const asked = useDebounced(JSON.stringify(draftWeights(edit.draft)), SETTLE_MS);
  const weights = JSON.parse(asked) as Record<string, number>;
  const preview = useQuery(previewQuery(job.id, edit.draft.basis, weights, edit.parsed.rampSteps));

  const weightProblem = draftProblem(edit.draft);
  const reasonProblem =
    edit.reason.trim() === "" ? "Say why: the reason stands in the history." : null;
  const { stepError, timeError, rampError } = edit.parsed;
  const problems = [weightProblem, reasonProblem, stepError, timeError, rampError];
  const ready = problems.every((problem) => problem === null) && edit.theirs === null;

  const submit = (event: SyntheticEvent) => {
    event.preventDefault();
    if (edit.send.isPending) return;
    setTried(!ready);
    if (ready) edit.send.mutate(undefined, { onSuccess: onSent });
    else requestAnimationFrame(() => form.current?.querySelector<HTMLElement>(INVALID)?.focus());
  };
  const sendByKey = (event: KeyboardEvent) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) submit(event);
    // Enter in a number is the end of typing there, not of the edit.
    else if (event.key === "Enter" && event.target instanceof HTMLInputElement)
      event.preventDefault();
  };
  return (
    // eslint-disable-next-line jsx-a11y/no-noninteractive-element-interactions -- a shortcut of every control in the form
    <form
      ref={form}
      className={classes.form}
      onSubmit={submit}
      onKeyDown={sendByKey}
      aria-label="Change the mix"
      noValidate
    >
      <EditNotes edit={edit} approval={approval} />
      <WeightTable
        draft={edit.draft}
        newest={newest}
        preview={preview.data}
        onDraft={edit.setDraft}
        onFlow={onFlow}
      />
      <PreviewNotes
        preview={preview.data}
        error={preview.error}
        stale={preview.isPlaceholderData}
      />
      <ScheduleFields
        job={job}
        schedule={edit.schedule}
        parsed={edit.parsed}
        tried={tried}
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
      />
      {tried && weightProblem !== null && (
        <p role="alert" className={classes.problem}>
          {weightProblem}
        </p>
      )}
      {edit.send.isError && !hasStatus(edit.send.error, 412) && (
        <ErrorState error={edit.send.error} />
      )}
      <div className={classes.actions}>
        <Button type="submit" loading={edit.send.isPending} disabled={edit.theirs !== null}>
          {edit.schedule.when === "now" ? "Send the change" : "Schedule the change"}
        </Button>
        <Button variant="default" disabled={!edit.touched} onClick={edit.discard}>
          Discard
        </Button>
        <KeyboardHelp />
      </div>
    </form>
  );
}
