import { numberStyle } from "./number-style";
import type { Bytes, Millis, Ppm, Share, Tokens, TokensPerSecond } from "./units";

/** What stands where a value is not known yet. */
export const UNKNOWN = "–";

/** Between groups of three digits: narrow, and no line breaks there. */
export const THIN_SPACE = "\u202f";
const whole = new Intl.NumberFormat("en-US", { maximumFractionDigits: 0 });
const MINUS = "−";

/** `1204` → `1 204`, with a thin space. */
export const formatCount = (value: number) => whole.format(value).replaceAll(",", THIN_SPACE);

const SCALES: readonly (readonly [number, string])[] = [
  [1e15, "P"],
  [1e12, "T"],
  [1e9, "G"],
  [1e6, "M"],
  [1e3, "k"],
];

/**
 * A large quantity as the reader wants it. Three significant digits and a metric prefix: `1234567` → `1.23 M`;
 * or in full: `1 234 567`. Below 1,000 three significant digits either way.
 */
export function formatMetric(value: number): string {
  if (numberStyle() === "full" && Math.abs(value) >= 999.5) return formatCount(value);
  // 999.5 k would print as "1000 k": a value that rounds up takes the next prefix.
  const scale = SCALES.find(([size]) => Math.abs(value) >= size * 0.9995);
  if (scale === undefined) return String(Number(value.toPrecision(3)));
  return `${(value / scale[0]).toPrecision(3)} ${scale[1]}`;
}

/** `12.3 M tokens`. */
export const formatTokens = (value: Tokens) => `${formatMetric(value)} tokens`;

/** `1.23 M tok/s`, or the unknown sign. */
export const formatRate = (value: TokensPerSecond | null) =>
  value === null ? UNKNOWN : `${formatMetric(value)} tok/s`;

/** A share as a percentage with one decimal; tiny but not zero is `< 0.1 %`. */
export function formatShare(value: Share | null): string {
  if (value === null) return UNKNOWN;
  if (value > 0 && value < 0.0005) return "< 0.1 %";
  return `${(value * 100).toFixed(1)} %`;
}

/** A weight as a percentage: two decimals, up to four where the weight needs them. */
export function formatPpm(value: Ppm | null): string {
  if (value === null) return UNKNOWN;
  return `${percentText(value, 2)} %`;
}

/** A weight as the text of a number field: no more decimals than it has, at least `fewest`. */
export function percentText(value: Ppm, fewest: number): string {
  const text = (value / 10_000).toFixed(4);
  const keep = text.length - 4 + fewest;
  const significant = text.replace(/0+$/, "").length;
  const cut = text.slice(0, Math.max(keep, significant));
  return cut.endsWith(".") ? cut.slice(0, -1) : cut;
}

/** A change of weight in percentage points, always signed: `+5.00 pp`, `±0 pp`. */
export function formatPpmDelta(value: number): string {
  if (value === 0) return "±0 pp";
  const points = percentText(Math.abs(value) as Ppm, 2);
  return `${value > 0 ? "+" : MINUS}${points} pp`;
}

/** Milliseconds with three significant digits; from 10 s on in seconds. */
export function formatMillis(value: Millis | null): string {
  if (value === null) return UNKNOWN;
  if (value >= 10_000) return `${(value / 1000).toFixed(1)} s`;
  if (value >= 100) return `${value.toFixed(0)} ms`;
  return `${value.toFixed(value >= 10 ? 1 : 2)} ms`;
}

/** Bytes with a binary prefix: `1.46 GiB`. */
export function formatBytes(value: Bytes | null): string {
  if (value === null) return UNKNOWN;
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let size: number = value;
  let index = 0;
  while (size >= 1023.5 && index < units.length - 1) {
    size /= 1024;
    index += 1;
  }
  return `${index === 0 ? size.toFixed(0) : size.toPrecision(3)} ${units[index] ?? ""}`;
}

/** Epochs with two decimals. */
export const formatEpochs = (value: number | null) =>
  value === null ? UNKNOWN : value.toFixed(value >= 100 ? 0 : 2);

/** `1 rank`, `2 ranks`. */
export const plural = (count: number, noun: string, nouns = `${noun}s`) =>
  `${formatCount(count)} ${count === 1 ? noun : nouns}`;
