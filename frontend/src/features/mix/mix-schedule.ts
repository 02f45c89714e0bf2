/** When an edit takes effect, as the reader typed it. */
export interface Schedule {
  when: "now" | "at-step" | "at-time";
  step: string;
  /** Date and time in the reader's zone, as a field for them has it: `2026-12-01T18:00`. */
  time: string;
  ramp: string;
}

/** At once: the first step that is not yet agreed, no ramp. */
export const NOW: Schedule = { when: "now", step: "", time: "", ramp: "0" };

/** A schedule as it is sent; now where neither a step nor a time is given. */
export interface ParsedSchedule {
  atStep: number | null;
  /** ISO 8601, in UTC. */
  at: string | null;
  rampSteps: number;
  stepError: string | null;
  timeError: string | null;
  rampError: string | null;
}

const MAX_STEP = 2 ** 48;

/** A whole number from 0 on; thousands may be grouped by commas, spaces or underscores. */
export function parseWhole(text: string): number | null {
  const digits = text.replaceAll(/[\s,_]/g, "");
  if (!/^\d+$/.test(digits)) return null;
  const value = Number(digits);
  return value <= MAX_STEP ? value : null;
}

const WHOLE_NUMBER = "give a whole number from 0 on";

function stepError(text: string, step: number | null, currentStep: number | null): string | null {
  if (step !== null) {
    if (currentStep === null || step > currentStep) return null;
    return `Step ${step} has passed: the job is at ${currentStep}`;
  }
  return text.trim() === ""
    ? "Give the first step with the new weights"
    : `'${text}' is not a step; ${WHOLE_NUMBER}`;
}

/** A moment as a field for date and time has it, in the reader's zone. */
export function localFieldText(moment: Date): string {
  const shifted = new Date(moment.getTime() - moment.getTimezoneOffset() * 60_000);
  return shifted.toISOString().slice(0, 16);
}

/** The moment that a reader typed in their zone; a message where there is none, or it has passed. */
export function parseLocal(text: string, nowMs: number): Date | string {
  if (text === "") return "Give a date and a time";
  const moment = new Date(text);
  if (Number.isNaN(moment.getTime())) return `'${text}' is no date and time`;
  // Clocks that go forward leave an hour out; a browser silently takes the next one.
  if (!text.startsWith(localFieldText(moment)))
    return "There is no such time on that day: the clocks go forward";
  return moment.getTime() > nowMs ? moment : "This time has passed";
}

/** What a schedule comes to, with what is wrong with each of its fields. */
export function parseSchedule(
  { when, step, time, ramp }: Schedule,
  currentStep: number | null,
  nowMs: number,
): ParsedSchedule {
  const atStep = when === "at-step" ? parseWhole(step) : null;
  const moment = when === "at-time" ? parseLocal(time, nowMs) : null;
  const rampSteps = ramp.trim() === "" ? 0 : parseWhole(ramp);
  return {
    atStep,
    at: moment instanceof Date ? moment.toISOString() : null,
    rampSteps: rampSteps ?? 0,
    stepError: when === "at-step" ? stepError(step, atStep, currentStep) : null,
    timeError: typeof moment === "string" ? moment : null,
    rampError: rampSteps === null ? `'${ramp}' is no number of steps; ${WHOLE_NUMBER}` : null,
  };
}
