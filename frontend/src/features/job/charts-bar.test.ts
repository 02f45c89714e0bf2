import { expect, it } from "vitest";

import { job } from "@/testing/fixtures";

import { toPlannedEnd } from "./charts-bar";

const running = job({
  total_steps: 1000,
  step: 499,
  seq_len: 128,
  global_batch_size: 100,
  tokens_per_s: 6400,
  created_at: "2027-01-15T08:00:00Z",
});

it("leads to the planned end, over time at the present pace", () => {
  expect(toPlannedEnd(running, "step", 0)).toEqual([0, 999]);
  expect(toPlannedEnd(running, "tokens", 0)).toEqual([0, 12_800_000]);
  const start = Date.parse("2027-01-15T08:00:00Z") / 1000;
  // 500 steps of 12,800 tokens are left, at half a step a second.
  expect(toPlannedEnd(running, "time", start + 3600)).toEqual([start, start + 3600 + 1000]);
});

it("knows no end in time of a run that stands or is over, and none at all without a plan", () => {
  for (const change of [{ tokens_per_s: null }, { tokens_per_s: 0 }, { step: null }, { step: 999 }])
    expect(toPlannedEnd({ ...running, ...change }, "time", 0)).toBeNull();
  expect(toPlannedEnd({ ...running, total_steps: null }, "step", 0)).toBeNull();
});
