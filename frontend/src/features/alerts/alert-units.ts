import type { AlertKind } from "@/api/types";
import { formatCount, formatEpochs, formatShare } from "@/lib/format";
import { share } from "@/lib/units";

/** How a kind's figure is said, and typed: `factor` figures of the page are one of the server. */
interface Unit {
  unit: string;
  factor: number;
  format: (value: number) => string;
}

const percent = (unit: string): Unit => ({
  unit,
  factor: 100,
  format: (value) => `${formatShare(share(value))}${unit.slice(1)}`,
});

const UNITS: Readonly<Record<AlertKind, Unit>> = {
  rank_lost: {
    unit: "ranks",
    factor: 1,
    format: (value) => `${formatCount(value)} ${value === 1 ? "rank" : "ranks"}`,
  },
  job_stalled: { unit: "s", factor: 1, format: (value) => `${formatCount(value)} s` },
  data_wait: percent("% of the time"),
  throughput_drop: percent("% of its median"),
  mix_drift: { unit: "pp", factor: 100, format: (value) => `${(value * 100).toFixed(1)} pp` },
  source_epochs: { unit: "epochs", factor: 1, format: (value) => `${formatEpochs(value)} epochs` },
  source_exhaustion: percent("% of its epochs"),
};

/** The unit that a kind's threshold is typed in. */
export const unitOf = (kind: AlertKind) => UNITS[kind].unit;

/** A figure of a kind with its unit: `23.4 % of the time`, `2 ranks`, `310 s`. */
export const formatFigure = (kind: AlertKind, value: number) => UNITS[kind].format(value);

/** What the reader types for a figure of the server's. */
export const typedFigure = (kind: AlertKind, value: number) =>
  String(Number((value * UNITS[kind].factor).toPrecision(12)));

/** The server's figure for what the reader typed; null for what is no number, undefined for nothing typed. */
export function readFigure(kind: AlertKind, text: string): number | null | undefined {
  if (text.trim() === "") return undefined;
  const value = Number(text.trim().replace(",", "."));
  return Number.isFinite(value) ? Number((value / UNITS[kind].factor).toPrecision(12)) : null;
}

/** Which way is bad. */
export const fires = (below: boolean) => (below ? "below" : "above");
