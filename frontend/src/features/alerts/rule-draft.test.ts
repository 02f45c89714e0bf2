import { expect, it } from "vitest";

import type { AlertRule } from "@/api/types";

import { draftErrors, draftOf, patchOf, readTags, ruleOf } from "./rule-draft";

const rule: AlertRule = {
  id: "r",
  name: "Starved",
  kind: "data_wait",
  about: "share of their time that ranks wait for data",
  fires_below: false,
  enabled: true,
  job_pattern: "llama-*",
  tags: { team: "pretrain" },
  threshold: 0.05,
  clear_at: 0.02,
  for_s: 120,
  clear_for_s: 60,
  window: null,
  max_epochs: null,
  created_by: "ada",
  created_at: "2026-11-30T10:00:00Z",
  updated_at: "2026-11-30T10:00:00Z",
};

it("sends a rule back as it came when nothing was changed", () => {
  const { name, job_pattern, tags, threshold, clear_at, for_s, clear_for_s } = rule;
  const same = { name, job_pattern, tags, threshold, clear_at, for_s, clear_for_s };
  expect(patchOf(draftOf(rule))).toEqual(same);
  expect(draftErrors(draftOf(rule))).toEqual({});
});

it("leaves to the server what is left empty", () => {
  expect(ruleOf({ ...draftOf(undefined), name: " Mine ", kind: "mix_drift" })).toEqual({
    name: "Mine",
    kind: "mix_drift",
    enabled: true,
    tags: {},
  });
  const lost = { ...draftOf(undefined), name: "x", kind: "rank_lost" as const, window: "5" };
  expect(ruleOf(lost)).not.toHaveProperty("window");
});

it("says what can't be read before anything is sent", () => {
  const wrong = { ...draftOf(rule), threshold: "much", tags: "team" };
  expect(Object.keys(draftErrors(wrong)).sort()).toEqual(["tags", "threshold"]);
  expect(readTags("a=1, b=x=y,")).toEqual({ a: "1", b: "x=y" });
  expect(readTags("=1")).toBeNull();
});
