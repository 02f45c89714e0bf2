import type { AlertKind, AlertRule, AlertRuleCreate, AlertRulePatch } from "@/api/types";

import { readFigure, typedFigure } from "./alert-units";

/** A rule as it stands in the form: every figure as typed, in the unit that is shown. */
export interface RuleDraft {
  name: string;
  kind: AlertKind;
  jobPattern: string;
  tags: string;
  threshold: string;
  clearAt: string;
  forS: string;
  clearForS: string;
  window: string;
  maxEpochs: string;
}

const EMPTY: RuleDraft = {
  name: "",
  kind: "data_wait",
  jobPattern: "",
  tags: "",
  threshold: "",
  clearAt: "",
  forS: "",
  clearForS: "",
  window: "",
  maxEpochs: "",
};

/** The form of a rule that is changed, or of a new one. */
export function draftOf(rule: AlertRule | undefined): RuleDraft {
  if (rule === undefined) return EMPTY;
  return {
    name: rule.name,
    kind: rule.kind,
    jobPattern: rule.job_pattern ?? "",
    tags: Object.entries(rule.tags)
      .map(([key, value]) => `${key}=${value}`)
      .join(", "),
    threshold: typedFigure(rule.kind, rule.threshold),
    clearAt: typedFigure(rule.kind, rule.clear_at),
    forS: String(rule.for_s),
    clearForS: String(rule.clear_for_s),
    window: rule.window === null ? "" : String(rule.window),
    maxEpochs: rule.max_epochs === null ? "" : String(rule.max_epochs),
  };
}

/** Which kinds look back, and over what. */
export const WINDOW_UNIT: Partial<Record<AlertKind, string>> = {
  throughput_drop: "s",
  mix_drift: "steps",
};

const number = (text: string): number | null | undefined => {
  if (text.trim() === "") return undefined;
  const value = Number(text.trim().replace(",", "."));
  return Number.isFinite(value) ? value : null;
};

/** `team=pretrain, size=70b` as tags; null for what is none. */
export function readTags(text: string): Record<string, string> | null {
  const tags: Record<string, string> = {};
  for (const part of text.split(",")) {
    if (part.trim() === "") continue;
    const [key, ...rest] = part.split("=");
    const value = rest.join("=").trim();
    if (key === undefined || key.trim() === "" || value === "") return null;
    tags[key.trim()] = value;
  }
  return tags;
}

/** What is typed but can't be read, by the name of the API's field. */
export function draftErrors(draft: RuleDraft): Partial<Record<string, string>> {
  const noNumber = "This is no number.";
  const figures = {
    threshold: readFigure(draft.kind, draft.threshold),
    clear_at: readFigure(draft.kind, draft.clearAt),
    for_s: number(draft.forS),
    clear_for_s: number(draft.clearForS),
    window: number(draft.window),
    max_epochs: number(draft.maxEpochs),
  };
  const errors: Partial<Record<string, string>> = {};
  for (const [field, value] of Object.entries(figures)) {
    if (value === null) errors[field] = noNumber;
  }
  if (readTags(draft.tags) === null) errors.tags = "Write tags as key=value, with commas between.";
  return errors;
}

function figuresOf(draft: RuleDraft): AlertRulePatch {
  const figures: Record<string, number | null | undefined> = {
    threshold: readFigure(draft.kind, draft.threshold),
    clear_at: readFigure(draft.kind, draft.clearAt),
    for_s: number(draft.forS),
    clear_for_s: number(draft.clearForS),
    ...(draft.kind in WINDOW_UNIT && { window: number(draft.window) }),
    ...(draft.kind === "source_exhaustion" && { max_epochs: number(draft.maxEpochs) }),
  };
  return Object.fromEntries(
    Object.entries(figures).filter(([, value]) => typeof value === "number"),
  );
}

/** What is sent for a new rule; what is left empty is as in the rule of its kind that a project begins with. */
export function ruleOf(draft: RuleDraft): AlertRuleCreate {
  const pattern = draft.jobPattern.trim();
  return {
    name: draft.name.trim(),
    kind: draft.kind,
    enabled: true,
    tags: readTags(draft.tags) ?? {},
    ...(pattern !== "" && { job_pattern: pattern }),
    ...(figuresOf(draft) as Partial<AlertRuleCreate>),
  };
}

/** What is sent for a rule that is changed; an empty figure stays as it is. */
export const patchOf = (draft: RuleDraft): AlertRulePatch => ({
  name: draft.name.trim(),
  job_pattern: draft.jobPattern.trim() === "" ? null : draft.jobPattern.trim(),
  tags: readTags(draft.tags) ?? {},
  ...figuresOf(draft),
});
