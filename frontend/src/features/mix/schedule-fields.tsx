import { SegmentedControl, TextInput } from "@mantine/core";

import type { Job } from "@/api/types";
import { formatCount } from "@/lib/format";
import { formatAge, formatUtc } from "@/lib/time";

import { untilStep } from "./change-words";
import classes from "./mix-editor.module.css";
import type { ParsedSchedule, Schedule } from "./mix-schedule";

interface Props {
  job: Job;
  schedule: Schedule;
  parsed: ParsedSchedule;
  /** Sending was tried: what is missing counts as wrong now. */
  tried: boolean;
  onSchedule: (schedule: Schedule) => void;
}

const CHOICES = [
  { value: "now", label: "Now" },
  { value: "at-step", label: "At a step" },
  { value: "at-time", label: "At a time" },
] as const;

/** When the change takes effect, and over how many steps. */
export function ScheduleFields({ job, schedule, parsed, tried, onSchedule }: Props) {
  const set = (change: Partial<Schedule>) => onSchedule({ ...schedule, ...change });
  return (
    <fieldset className={classes.schedule} aria-label="Schedule">
      <div className={classes.when}>
        <span className={classes.label} aria-hidden="true">
          When
        </span>
        <SegmentedControl
          aria-label="When"
          value={schedule.when}
          onChange={(when) =>
            set({ when: CHOICES.find(({ value }) => value === when)?.value ?? "now" })
          }
          data={CHOICES.map((choice) => choice)}
        />
      </div>
      {schedule.when === "at-step" && (
        <TextInput
          label="First step with the new weights"
          className={classes.start}
          inputMode="numeric"
          value={schedule.step}
          error={schedule.step === "" && !tried ? undefined : parsed.stepError}
          description={stepHint(job, parsed.atStep)}
          onChange={(event) => set({ step: event.currentTarget.value })}
        />
      )}
      {schedule.when === "at-time" && (
        <TextInput
          type="datetime-local"
          label={`Date and time, ${zoneName()}`}
          className={classes.start}
          value={schedule.time}
          error={schedule.time === "" && !tried ? undefined : parsed.timeError}
          description={timeHint(parsed.at)}
          onChange={(event) => set({ time: event.currentTarget.value })}
        />
      )}
      <TextInput
        label="Ramp, steps"
        className={classes.ramp}
        description="0 changes at once; otherwise the weights move evenly over this many steps."
        inputMode="numeric"
        value={schedule.ramp}
        error={parsed.rampError}
        onChange={(event) => set({ ramp: event.currentTarget.value })}
      />
      {schedule.when !== "now" && (
        <p className={classes.note}>
          It waits outside the mix and is made only if nobody has changed the mix until then;
          otherwise it needs attention.
        </p>
      )}
    </fieldset>
  );
}

const zoneName = () => Intl.DateTimeFormat().resolvedOptions().timeZone;

function stepHint(job: Job, step: number | null): string {
  if (job.step === null) return "The job has not started.";
  const left = step === null ? null : untilStep(job, step);
  return `The job is at step ${formatCount(job.step)}${left === null ? "" : `; ${left}`}.`;
}

const timeHint = (at: string | null) =>
  at === null
    ? "In your own zone."
    : `${formatUtc(at)}, in ${formatAge(Date.now(), Date.parse(at))}.`;
