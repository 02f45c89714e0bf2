import { expect, it } from "vitest";

import { parsePercent } from "./weight-input";

it.each([
  ["0", 0],
  ["12.5", 125_000],
  ["12,5", 125_000],
  [" 33.3333 % ", 333_333],
  [".5", 5000],
  ["5.", 50_000],
  ["100", 1_000_000],
  ["100.1", null],
  ["-1", null],
  ["1e2", null],
  ["NaN", null],
  ["Infinity", null],
  ["", null],
  [".", null],
])("reads %j as %j ppm", (text, weight) => expect(parsePercent(text)).toBe(weight));
