import { afterEach, describe, expect, it } from "vitest";

import {
  formatBytes,
  formatEpochs,
  formatMetric,
  formatMillis,
  formatPpm,
  formatPpmDelta,
  formatRate,
  formatShare,
  percentText,
  plural,
} from "./format";
import { setNumberStyle } from "./number-style";
import { bytes, millis, percentToPpm, ppm, share, tokensPerSecond } from "./units";

describe("formatMetric", () => {
  it.each([
    [0, "0"],
    [999, "999"],
    [1000, "1.00 k"],
    [1_234_567, "1.23 M"],
    [999_499, "999 k"],
    [999_999, "1.00 M"],
    [1e14, "100 T"],
  ])("%d is %s", (value, text) => expect(formatMetric(value)).toBe(text));
});

describe("numbers in full", () => {
  afterEach(() => setNumberStyle("si"));

  it.each([
    [0.123456, "0.123"],
    [999, "999"],
    [1000, "1\u202f000"],
    [1_234_567.8, "1\u202f234\u202f568"],
  ])("%d is %s", (value, text) => {
    setNumberStyle("full");
    expect(formatMetric(value)).toBe(text);
    expect(localStorage.getItem("headrace-numbers")).toBe("full");
  });
});

describe("weights", () => {
  it.each([
    [0, "0.00"],
    [1, "0.0001"],
    [333_333, "33.3333"],
    [500_000, "50.00"],
    [123_450, "12.345"],
    [1_000_000, "100.00"],
  ])("%d ppm is %s %%", (value, text) => {
    expect(percentText(ppm(value), 2)).toBe(text);
    expect(percentToPpm(Number(text))).toBe(value);
    expect(formatPpm(ppm(value))).toBe(`${text} %`);
  });

  it("signs a difference and says when there is none", () => {
    expect(formatPpmDelta(50_000)).toBe("+5.00 pp");
    expect(formatPpmDelta(-50_000)).toBe("−5.00 pp");
    expect(formatPpmDelta(0)).toBe("±0 pp");
  });
});

describe("unknown values", () => {
  it("are a dash, never 0", () => {
    for (const text of [formatRate(null), formatShare(null), formatPpm(null), formatMillis(null)]) {
      expect(text).toBe("–");
    }
    expect(formatBytes(null)).toBe("–");
    expect(formatEpochs(null)).toBe("–");
  });
});

it("keeps a small share apart from none", () => {
  expect(formatShare(share(0))).toBe("0.0 %");
  expect(formatShare(share(0.0001))).toBe("< 0.1 %");
  expect(formatShare(share(0.1234))).toBe("12.3 %");
});

it("gives every measure its unit", () => {
  expect(formatRate(tokensPerSecond(1_234_567))).toBe("1.23 M tok/s");
  expect(formatMillis(millis(0.213))).toBe("0.21 ms");
  expect(formatMillis(millis(45.67))).toBe("45.7 ms");
  expect(formatMillis(millis(12_345))).toBe("12.3 s");
  expect(formatBytes(bytes(512))).toBe("512 B");
  expect(formatBytes(bytes(1_572_864_000))).toBe("1.46 GiB");
  expect(plural(1, "rank")).toBe("1 rank");
  expect(plural(2048, "rank")).toBe("2\u202f048 ranks");
});
