import { expect, it } from "vitest";

import { job } from "@/testing/fixtures";

import { epochShare, shortPath } from "./cursor-place";

const at = (ordinal: number, epoch: number, name = "code") =>
  epochShare({ name, ordinal, epoch, file: null, row: null }, job());

it("tells how far an epoch is from the sequences delivered", () => {
  // 1,000,000 tokens in sequences of 1,024.
  expect(at(0, 0)).toBe(0);
  expect(at(488, 0)).toBeCloseTo(0.4997, 3);
  expect(at(977, 1)).toBeCloseTo(0.0004, 3);
  expect(at(976, 1)).toBe(0);
});

it("tells nothing where the source's size does not agree with the epoch", () => {
  expect(at(5000, 0)).toBeNull();
  expect(at(10, 3)).toBeNull();
  expect(at(10, 0, "unknown")).toBeNull();
});

it("shortens a path to its end", () => {
  expect(shortPath("/data/code/0001.arrow")).toBe("code/0001.arrow");
});
