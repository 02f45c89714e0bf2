import classes from "./state-badge.module.css";

type Tone = "ok" | "warn" | "bad" | "quiet";

/** Every state of a job, an attempt, a rank, a version, a change and an alert; a new one must be given a tone here. */
const TONES = {
  running: "ok",
  live: "ok",
  applied: "ok",
  finished: "quiet",
  superseded: "quiet",
  resolved: "quiet",
  waiting: "quiet",
  proposed: "warn",
  seen: "warn",
  agreed: "warn",
  acknowledged: "warn",
  late: "warn",
  stale: "warn",
  firing: "bad",
  stuck: "bad",
  stalled: "bad",
  failed: "bad",
  lost: "bad",
  awaiting_approval: "warn",
  scheduled: "warn",
  done: "ok",
  needs_attention: "bad",
  rejected: "quiet",
  cancelled: "quiet",
  dismissed: "quiet",
  replaced: "quiet",
  expired: "quiet",
} as const satisfies Record<string, Tone>;

/** A state of anything that has one. */
export type AnyState = keyof typeof TONES;

const LABELS: Partial<Record<AnyState, string>> = {
  stuck: "not advancing",
  awaiting_approval: "awaiting approval",
  needs_attention: "needs attention",
};

/** The state as a word with a dot; the dot's colour says nothing that the word doesn't. */
export function StateBadge({ state }: { state: AnyState }) {
  return (
    <span className={classes.badge} data-tone={TONES[state]}>
      <span className={classes.dot} aria-hidden="true" />
      {LABELS[state] ?? state}
    </span>
  );
}
