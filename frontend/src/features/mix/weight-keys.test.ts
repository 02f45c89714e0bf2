import { expect, it } from "vitest";

import { weightAfterKey } from "./weight-keys";

it.each([
  ["ArrowUp", false, 500_000, 501_000],
  ["ArrowRight", false, 500_400, 501_000],
  ["ArrowLeft", false, 500_400, 500_000],
  ["ArrowDown", true, 500_000, 490_000],
  ["ArrowUp", true, 123_456, 130_000],
  ["PageUp", false, 123_456, 150_000],
  ["PageDown", false, 20_000, 0],
  ["ArrowUp", true, 999_000, 1_000_000],
  ["Home", false, 123_456, 0],
  ["End", false, 123_456, 1_000_000],
])("%s (shift %s) takes %i to %i", (key, shiftKey, from, to) =>
  expect(weightAfterKey(from, { key, shiftKey })).toBe(to),
);

it("leaves other keys alone", () => {
  expect(weightAfterKey(1, { key: "Tab", shiftKey: true })).toBeNull();
});
