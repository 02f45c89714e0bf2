import { expect, it } from "vitest";

import { mixVersion } from "@/testing/fixtures";

import { flowOf, proportionsAfter } from "./flow";

const paused = mixVersion({
  weights_ppm: { code: 0, prose: 600_000, legal: 400_000 },
  paused: { code: 500_000 },
});

it("pauses what runs beside others, resumes what has a weight to return to", () => {
  expect(flowOf(mixVersion(), "code")).toBe("pause");
  expect(flowOf(paused, "code")).toBe("resume");
  const alone = mixVersion({
    weights_ppm: { code: 1_000_000, prose: 0, legal: 0 },
    paused: { prose: 1_000_000 },
  });
  expect(flowOf(alone, "code")).toBeNull();
  expect(flowOf(alone, "prose")).toBeNull();
  expect(flowOf(alone, "legal")).toBeNull();
});

it("gives a paused source's share to the others in proportion, and takes it back exactly", () => {
  expect(proportionsAfter(mixVersion(), "code", "pause")).toEqual({
    code: 0,
    prose: 300_000,
    legal: 200_000,
  });
  const back = proportionsAfter(paused, "code", "resume");
  const total = Object.values(back).reduce((a, b) => a + b, 0);
  expect(Object.values(back).map((weight) => weight / total)).toEqual([0.5, 0.3, 0.2]);
});
