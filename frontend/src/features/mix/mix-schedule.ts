/** When an edit takes effect, as the reader typed it. */
export interface Schedule {
  when: "now" | "at-step";
  step: string;
  ramp: string;
}

/** At once: the first step that is not yet agreed, no ramp. */
export const NOW: Schedule = { when: "now", step: "", ramp: "0" };

/** A schedule as numbers; `fromStep` null is now. */
export interface ParsedSchedule {
  fromStep: number | null;
  rampSteps: number;
  stepError: string | null;
  rampError: string | null;
}

const MAX_STEP = 2 ** 53 - 1;

/** A whole number from 0 on; thousands may be grouped by commas, spaces or underscores. */
export function parseWhole(text: string): number | null {
  const digits = text.replaceAll(/[\s,_]/g, "");
  if (!/^\d+$/.test(digits)) return null;
  const value = Number(digits);
  return value <= MAX_STEP ? value : null;
}

const WHOLE_NUMBER = "give a whole number from 0 on";

function stepError(text: string, step: number | null): string | null {
  if (step !== null) return null;
  return text.trim() === ""
    ? "Give the first step with the new weights"
    : `'${text}' is not a step; ${WHOLE_NUMBER}`;
}

/** The step and the ramp of a schedule, with what is wrong with either. */
export function parseSchedule({ when, step, ramp }: Schedule): ParsedSchedule {
  const fromStep = when === "now" ? null : parseWhole(step);
  const rampSteps = ramp.trim() === "" ? 0 : parseWhole(ramp);
  return {
    fromStep,
    rampSteps: rampSteps ?? 0,
    stepError: when === "now" ? null : stepError(step, fromStep),
    rampError: rampSteps === null ? `'${ramp}' is no number of steps; ${WHOLE_NUMBER}` : null,
  };
}
