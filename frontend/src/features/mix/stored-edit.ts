import { ppm } from "@/lib/units";

import type { DraftRow, MixDraft } from "./mix-draft";
import { NOW, type Schedule } from "./mix-schedule";

/** All that a reader has typed of a change and not sent. */
export interface MixEditState {
  draft: MixDraft;
  schedule: Schedule;
  reason: string;
  /** The change that needs attention and that this one takes the place of. */
  replaces: string | null;
}

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

const isWeight = (value: unknown) =>
  typeof value === "number" && Number.isInteger(value) && value >= 0 && value <= 1_000_000;

const isRow = (value: unknown): value is DraftRow =>
  isRecord(value) &&
  typeof value.source === "string" &&
  isWeight(value.weight) &&
  isWeight(value.wish) &&
  typeof value.locked === "boolean" &&
  typeof value.touched === "boolean";

const isDraft = (value: unknown): value is MixDraft =>
  isRecord(value) &&
  Number.isInteger(value.basis) &&
  isRecord(value.before) &&
  Object.values(value.before).every(isWeight) &&
  Array.isArray(value.rows) &&
  value.rows.every(isRow);

const isSchedule = (value: unknown): value is Schedule =>
  isRecord(value) &&
  ["now", "at-step", "at-time"].includes(String(value.when)) &&
  ["step", "time", "ramp"].every((name) => typeof value[name] === "string");

/** Whether what a tab kept is an edit as this page has it. */
export const isEditState = (value: unknown): value is MixEditState =>
  isRecord(value) &&
  isDraft(value.draft) &&
  isSchedule(value.schedule) &&
  typeof value.reason === "string" &&
  (value.replaces === null || typeof value.replaces === "string");

/** The kept edit on the sources that the job has now: those it doesn't know come with the weight 0. */
export function withSources(edit: MixEditState, order: readonly string[]): MixEditState {
  const held = new Set(edit.draft.rows.map(({ source }) => source));
  const added = order
    .filter((source) => !held.has(source))
    .map((source) => ({
      source,
      weight: ppm(0),
      wish: ppm(0),
      locked: false,
      touched: false,
    }));
  return { ...edit, draft: { ...edit.draft, rows: [...edit.draft.rows, ...added] } };
}

/** Whether there is anything in an edit beside its weights that would be lost. */
export const hasWords = ({ reason, schedule, replaces }: MixEditState): boolean =>
  reason !== "" ||
  replaces !== null ||
  (Object.keys(NOW) as (keyof Schedule)[]).some((name) => schedule[name] !== NOW[name]);
