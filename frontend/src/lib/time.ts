/** Times are ISO-8601 strings in UTC as the server sends them; they are shown in the reader's zone. */

const clock = new Intl.DateTimeFormat(undefined, { timeStyle: "medium" });
const dateAndClock = new Intl.DateTimeFormat(undefined, {
  dateStyle: "medium",
  timeStyle: "medium",
});

/** `14:03:21` today, with the date on other days. */
export function formatLocal(iso: string, now: Date): string {
  const at = new Date(iso);
  return at.toDateString() === now.toDateString() ? clock.format(at) : dateAndClock.format(at);
}

/** `2026-11-30 14:03:21 UTC`. */
export const formatUtc = (iso: string) =>
  `${new Date(iso).toISOString().slice(0, 19).replace("T", " ")} UTC`;

const STEPS: readonly (readonly [number, string])[] = [
  [86_400, "d"],
  [3_600, "h"],
  [60, "min"],
];

/** An age in whole units: `0 s`, `40 s`, `3 min`, `2 h`, `5 d`; a time ahead of `nowMs` counts as 0. */
export function formatAge(sinceMs: number, nowMs: number): string {
  const seconds = Math.max(0, Math.floor((nowMs - sinceMs) / 1000));
  const step = STEPS.find(([size]) => seconds >= size);
  return step === undefined ? `${seconds} s` : `${Math.floor(seconds / step[0])} ${step[1]}`;
}

/** The time between two moments, one decimal below a minute: `0.4 s`, `12.0 s`, `3 min`. */
export function formatSpan(fromIso: string, toIso: string): string {
  const from = Date.parse(fromIso);
  const to = Math.max(from, Date.parse(toIso));
  return to - from < 60_000 ? `${((to - from) / 1000).toFixed(1)} s` : formatAge(from, to);
}

/** A duration that was set, in the largest units that say it whole: `72 h`, `30 d`, `90 s`, `1.5 h`. */
export function formatDuration(seconds: number): string {
  // Up to three days read better in hours.
  const [size, unit] = STEPS.find(
    ([step]) => seconds >= step && (step < 86_400 || seconds > 259_200),
  ) ?? [1, "s"];
  return `${Number((seconds / size).toFixed(2))} ${unit}`;
}
