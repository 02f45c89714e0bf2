import { Button, TextInput } from "@mantine/core";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect, useRef, useState, type SyntheticEvent } from "react";

import { errorMessage, hasStatus } from "@/api/problem";
import { changesKey } from "@/api/queries/changes";
import {
  isWaiting,
  mixQuery,
  pauseSource,
  previewQuery,
  resumeSource,
  versionsKey,
} from "@/api/queries/mix";
import type { MixChange, MixVersion } from "@/api/types";
import { ErrorState } from "@/components/page-states";
import { formatPpm, formatPpmDelta } from "@/lib/format";
import { mixDifference } from "@/lib/mix-difference";
import { ppm } from "@/lib/units";

import { proportionsAfter, type Flow } from "./flow";
import classes from "./flow-panel.module.css";
import { PreviewNotes } from "./preview-notes";

interface Props {
  jobId: string;
  newest: MixVersion;
  source: string;
  flow: Flow;
  /** A resume has to be approved by somebody else. */
  approval: boolean;
  onSent: (made: MixVersion | MixChange) => void;
  onClose: () => void;
}

/** Asks for a reason before a source is paused or resumed at once, and shows who gets its share, or gives it. */
export function FlowPanel({ jobId, newest, source, flow, approval, onSent, onClose }: Props) {
  const client = useQueryClient();
  const [reason, setReason] = useState("");
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => field.current?.focus(), []);
  const wanted = proportionsAfter(newest, source, flow);
  const preview = useQuery(previewQuery(jobId, newest.version, wanted, 0));
  const send = useMutation({
    mutationFn: (): Promise<MixVersion | MixChange> =>
      flow === "pause"
        ? pauseSource(jobId, source, reason.trim())
        : resumeSource(jobId, newest.version, source, reason.trim()),
    onSuccess: (made) => {
      if (isWaiting(made)) void client.invalidateQueries({ queryKey: changesKey(jobId) });
      else {
        client.setQueryData(mixQuery(jobId).queryKey, (old) =>
          old !== undefined && old.version >= made.version ? old : made,
        );
        void client.invalidateQueries({ queryKey: versionsKey(jobId) });
      }
      onSent(made);
    },
    onError: (error) => {
      if (hasStatus(error, 412))
        void client.invalidateQueries({ queryKey: mixQuery(jobId).queryKey });
    },
  });
  const verb = flow === "pause" ? "Pause" : "Resume";
  const submit = (event: SyntheticEvent) => {
    event.preventDefault();
    if (reason.trim() !== "" && !send.isPending) send.mutate();
  };
  const changes =
    preview.data && !preview.isPlaceholderData
      ? mixDifference(newest.weights_ppm, preview.data.weights_ppm)
      : [];
  return (
    <form className={classes.panel} onSubmit={submit} aria-labelledby="flow-title">
      <h2 id="flow-title" className={classes.title}>
        {verb} {source} now
      </h2>
      <p className={classes.note}>
        {flow === "pause"
          ? "It stops at the next step that is not yet agreed. The others share its weight in proportion, whoever edits meanwhile, and nobody has to approve it."
          : "It returns to the weight it had, and the others give in proportion."}
        {flow === "resume" &&
          approval &&
          " The project asks for a second person: it waits for an approval."}
        {" What you have typed below stays."}
      </p>
      <ul className={classes.shares} aria-label={`What v${newest.version} becomes`}>
        {changes.map(({ source: name, before, after }) => (
          <li key={name}>
            {name} {formatPpm(ppm(before))} → {formatPpm(ppm(after))}{" "}
            <span className={classes.note}>({formatPpmDelta(after - before)})</span>
          </li>
        ))}
      </ul>
      <PreviewNotes preview={preview.data} error={null} stale={preview.isPlaceholderData} />
      {preview.isError && <ErrorState error={preview.error} />}
      <div className={classes.send}>
        <TextInput
          ref={field}
          className={classes.field}
          label={`Why ${source} ${flow === "pause" ? "stops" : "returns"}`}
          required
          maxLength={500}
          value={reason}
          error={send.isError ? explain(send.error) : undefined}
          onChange={(event) => setReason(event.currentTarget.value)}
          onKeyDown={(event) => {
            if (event.key === "Escape") onClose();
          }}
        />
        <Button type="submit" loading={send.isPending} disabled={reason.trim() === ""}>
          {verb} {source}
        </Button>
        <Button variant="default" onClick={onClose}>
          Leave it as it is
        </Button>
      </div>
    </form>
  );
}

function explain(error: unknown): string {
  if (!hasStatus(error, 412)) return errorMessage(error);
  const current = error.body.current;
  const who = current ? `${current.author} made v${current.version}` : "Somebody changed the mix";
  return `${who} meanwhile. Nothing was sent; the shares above are on top of it now.`;
}
