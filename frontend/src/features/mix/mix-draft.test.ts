import { describe, expect, it } from "vitest";

import { ppm, WHOLE } from "@/lib/units";
import { mixVersion } from "@/testing/fixtures";

import {
  canMerge,
  draftOf,
  draftProblem,
  draftWeights,
  isChanged,
  mergeDraft,
  normaliseRest,
  rebaseDraft,
  setWeight,
  startDraft,
  toggleLock,
  totalOf,
} from "./mix-draft";

const ORDER = ["code", "prose", "legal"];
const fresh = () => startDraft(mixVersion(), ORDER);

describe("balancing", () => {
  it("gives the others the rest in their proportions", () => {
    const draft = setWeight(fresh(), "code", ppm(0), true);
    expect(draftWeights(draft)).toEqual({ code: 0, prose: 600_000, legal: 400_000 });
    expect(totalOf(draft)).toBe(WHOLE);
  });

  it("loses no proportion on the way through 100 %", () => {
    const full = setWeight(fresh(), "code", WHOLE, true);
    expect(draftWeights(full)).toEqual({ code: WHOLE, prose: 0, legal: 0 });
    expect(draftWeights(setWeight(full, "code", ppm(500_000), true))).toEqual(
      draftWeights(fresh()),
    );
  });

  it("moves no locked row", () => {
    const draft = setWeight(toggleLock(fresh(), "prose"), "code", ppm(600_000), true);
    expect(draftWeights(draft)).toEqual({ code: 600_000, prose: 300_000, legal: 100_000 });
  });

  it("wakes no paused source", () => {
    const paused = setWeight(fresh(), "legal", ppm(0), true);
    const draft = setWeight(paused, "code", ppm(100_000), true);
    expect(draftWeights(draft)).toEqual({ code: 100_000, prose: 900_000, legal: 0 });
  });

  it("always sums to the whole while something is free to move", () => {
    for (let weight = 0; weight <= WHOLE; weight += 7919) {
      expect(totalOf(setWeight(fresh(), "prose", ppm(weight), true))).toBe(WHOLE);
    }
  });

  it("holds a weight between nothing and the whole", () => {
    expect(draftWeights(setWeight(fresh(), "code", ppm(2_000_000), false)).code).toBe(WHOLE);
    expect(draftWeights(setWeight(fresh(), "code", ppm(-5), false)).code).toBe(0);
  });
});

it("normalises the rest around the locked rows", () => {
  const odd = setWeight(
    setWeight(fresh(), "code", ppm(800_000), false),
    "prose",
    ppm(600_000),
    false,
  );
  const draft = normaliseRest(toggleLock(odd, "legal"));
  expect(draftWeights(draft)).toEqual({ code: 457_143, prose: 342_857, legal: 200_000 });
});

it("says why weights can't be sent", () => {
  expect(draftProblem(fresh())).toContain("weights of v3");
  expect(draftProblem(setWeight(fresh(), "code", ppm(540_000), false))).toContain("sum to 104 %");
  expect(draftProblem(setWeight(fresh(), "code", ppm(540_000), true))).toBeNull();
});

it("takes in a source that the other version brought", () => {
  const theirs = mixVersion({
    version: 4,
    weights_ppm: { code: 500_000, prose: 300_000, legal: 200_000, news: 0 },
  });
  expect(draftWeights(rebaseDraft(fresh(), theirs))).toHaveProperty("news", 0);
});

it("keeps the edit when it moves on top of another version", () => {
  const edit = setWeight(fresh(), "code", ppm(700_000), true);
  const theirs = mixVersion({ version: 4, weights_ppm: draftWeights(edit) });
  const moved = rebaseDraft(edit, theirs);
  expect(moved.basis).toBe(4);
  expect(draftWeights(moved)).toEqual(draftWeights(edit));
  expect(isChanged(edit)).toBe(true);
  expect(isChanged(moved)).toBe(false);
});

it("takes both sides of a conflict: what was given stays, the others follow the other version", () => {
  const edit = setWeight(fresh(), "code", ppm(700_000), true);
  const theirs = mixVersion({
    version: 4,
    weights_ppm: { code: 500_000, prose: 100_000, legal: 400_000 },
  });
  expect(canMerge(edit)).toBe(true);
  const both = mergeDraft(edit, theirs);
  expect(both.basis).toBe(4);
  expect(draftWeights(both)).toEqual({ code: 700_000, prose: 60_000, legal: 240_000 });
});

it("has nothing to merge where the reader gave every weight, or none", () => {
  expect(canMerge(fresh())).toBe(false);
  const all = ORDER.reduce((draft, source) => setWeight(draft, source, ppm(1), false), fresh());
  expect(canMerge(all)).toBe(false);
});

it("asks for the weights of a change that is taken up, on top of the version that is newest", () => {
  const draft = draftOf(mixVersion(), ORDER, { code: 500_000, prose: 500_000 });
  expect(draft.basis).toBe(3);
  expect(draftWeights(draft)).toEqual({ code: 500_000, prose: 500_000, legal: 0 });
  expect(draft.rows.map(({ touched }) => touched)).toEqual([false, true, true]);
});
