import { SegmentedControl, TextInput } from "@mantine/core";

import { formatCount } from "@/lib/format";

import classes from "./mix-editor.module.css";
import type { ParsedSchedule, Schedule } from "./mix-schedule";

interface Props {
  schedule: Schedule;
  parsed: ParsedSchedule;
  /** Sending was tried: what is missing counts as wrong now. */
  tried: boolean;
  /** The last step handed out, null before the first. */
  currentStep: number | null;
  onSchedule: (schedule: Schedule) => void;
}

/** When the change takes effect, and over how many steps. */
export function ScheduleFields({ schedule, parsed, tried, currentStep, onSchedule }: Props) {
  const passed = parsed.fromStep !== null && currentStep !== null && parsed.fromStep <= currentStep;
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
            onSchedule({ ...schedule, when: when === "at-step" ? "at-step" : "now" })
          }
          data={[
            { value: "now", label: "Now" },
            { value: "at-step", label: "At a step" },
          ]}
        />
      </div>
      {schedule.when === "at-step" && (
        <TextInput
          label="First step with the new weights"
          inputMode="numeric"
          value={schedule.step}
          error={schedule.step === "" && !tried ? undefined : parsed.stepError}
          description={
            passed
              ? "This step has passed: the next step not yet planned will be taken."
              : stepHint(currentStep)
          }
          onChange={(event) => onSchedule({ ...schedule, step: event.currentTarget.value })}
        />
      )}
      <TextInput
        label="Ramp, steps"
        description="0 changes at once; otherwise the weights move evenly over this many steps."
        inputMode="numeric"
        value={schedule.ramp}
        error={parsed.rampError}
        onChange={(event) => onSchedule({ ...schedule, ramp: event.currentTarget.value })}
      />
    </fieldset>
  );
}

const stepHint = (step: number | null) =>
  step === null ? "The job has not started." : `The job is at step ${formatCount(step)}.`;
