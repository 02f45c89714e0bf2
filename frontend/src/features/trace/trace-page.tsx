import { Button, TextInput } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";

import { jobQuery } from "@/api/queries/job";
import { traceQuery } from "@/api/queries/trace";
import type { Job, StepTrace } from "@/api/types";
import card from "@/components/card.module.css";
import { CopyableId } from "@/components/copyable-id";
import { EmptyState, ErrorState, LoadingState } from "@/components/page-states";
import { formatCount } from "@/lib/format";

import { BatchTable } from "./batch-table";
import { CommandCard } from "./command-card";
import classes from "./trace-page.module.css";
import { readStep } from "./trace-search";
import { TracedBrowser } from "./traced-browser";

const CARD = `${card.card} ${classes.card}`;

interface Props {
  jobId: string;
  step: number | undefined;
  onStep: (step: number) => void;
}

/** What one global batch was made of: from the record at once, and by document from the command's output. */
export function TracePage({ jobId, step, onStep }: Props) {
  const job = useQuery(jobQuery(jobId));
  if (job.data === undefined) return <LoadingState label="Loading the job" rows={2} height={120} />;
  return (
    <>
      <StepPicker key={step ?? "none"} step={step} lastStep={job.data.step} onStep={onStep} />
      {step === undefined ? (
        <EmptyState title="No step chosen">Give a step, or click a point of a chart.</EmptyState>
      ) : (
        <TracedStep job={job.data} step={step} />
      )}
    </>
  );
}

interface PickerProps {
  step: number | undefined;
  lastStep: number | null;
  onStep: (step: number) => void;
}

function StepPicker({ step, lastStep, onStep }: PickerProps) {
  const [text, setText] = useState(step === undefined ? "" : String(step));
  const wanted = readStep(text);
  const last = lastStep === null ? "" : ` The last step was ${formatCount(lastStep)}.`;
  return (
    <form
      className={classes.picker}
      onSubmit={(event) => {
        event.preventDefault();
        if (wanted !== undefined) onStep(wanted);
      }}
    >
      <TextInput
        label="Step"
        inputMode="numeric"
        value={text}
        onChange={(event) => setText(event.currentTarget.value)}
        error={text !== "" && wanted === undefined ? "A whole number from 0 on" : undefined}
      />
      <Button type="submit" disabled={wanted === undefined}>
        Trace
      </Button>
      <Button
        variant="default"
        disabled={step === undefined || step === 0}
        onClick={() => onStep((step ?? 1) - 1)}
      >
        Step before
      </Button>
      <Button
        variant="default"
        disabled={step === undefined}
        onClick={() => onStep((step ?? 0) + 1)}
      >
        Step after
      </Button>
      <p className={classes.hint}>A step is one global batch, counted from 0.{last}</p>
    </form>
  );
}

function TracedStep({ job, step }: { job: Job; step: number }) {
  const trace = useQuery(traceQuery(job.id, step));
  if (trace.isPending) return <LoadingState label="Tracing the step" rows={3} height={60} />;
  if (trace.data === undefined)
    return <ErrorState error={trace.error} onRetry={() => void trace.refetch()} />;
  return (
    <>
      <section className={CARD} aria-labelledby="batch" data-step={trace.data.step}>
        <h2 id="batch">Global batch of step {formatCount(trace.data.step)}</h2>
        <p data-certainty={trace.data.certainty} className={classes.statement}>
          {trace.data.statement}
        </p>
        <Facts trace={trace.data} />
        <BatchTable trace={trace.data} />
      </section>
      <section className={CARD} aria-labelledby="command">
        <h2 id="command">Its documents</h2>
        <CommandCard job={job} step={step} />
      </section>
      <section className={CARD} aria-labelledby="documents">
        <h2 id="documents">Browse what it printed</h2>
        <TracedBrowser trace={trace.data} sources={job.sources.map(({ name }) => name)} />
      </section>
    </>
  );
}

function Facts({ trace }: { trace: StepTrace }) {
  const { mix, attempts } = trace;
  return (
    <dl className={classes.facts}>
      <div>
        <dt>Mix</dt>
        <dd>
          {mix === null
            ? "not recorded"
            : `v${mix.version} since step ${formatCount(mix.from_step)}`}
          {mix !== null &&
            mix.ramp_done < mix.ramp_steps &&
            `, ${formatCount(mix.ramp_done)} of ${formatCount(mix.ramp_steps)} steps of its ramp done`}
        </dd>
      </div>
      {attempts.map((attempt) => (
        <div key={attempt.id}>
          <dt>Attempt {attempt.number}</dt>
          <dd>
            {attempt.holds ? "trained it; its record holds" : "trained it too; trained again since"}{" "}
            <CopyableId id={attempt.id} label={`id of attempt ${attempt.number}`} />
          </dd>
        </div>
      ))}
    </dl>
  );
}
