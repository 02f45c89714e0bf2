import type { MixChange, MixVersion } from "@/api/types";
import { formatCount } from "@/lib/format";
import { formatLocal } from "@/lib/time";

/** One step in the life of a change; `at` is null while it is to come. */
export interface Stage {
  label: string;
  at: string | null;
}

/** What a change waits for, as a part of a sentence: "step 50 000", "18:00:00". */
export function startOf(change: Pick<MixChange, "starts" | "at_step" | "at">, now: Date): string {
  if (change.starts === "step" && change.at_step !== null)
    return `step ${formatCount(change.at_step)}`;
  return change.at === null ? "an approval" : formatLocal(change.at, now);
}

function approval(change: MixChange): Stage[] {
  if (change.state === "rejected")
    return [{ label: `Rejected by ${change.decided_by ?? "somebody"}`, at: change.decided_at }];
  if (change.decided_by !== null)
    return [{ label: `Approved by ${change.decided_by}`, at: change.decided_at }];
  return change.expires_at === null ? [] : [{ label: "Approved", at: null }];
}

/** What happens before a change becomes a version: proposed → approved, where asked → scheduled, where it waits. */
function before(change: MixChange): Stage[] {
  const approved = approval(change);
  const waits = approved.some(({ at }) => at === null);
  const scheduled = { label: `Scheduled for ${startOf(change, new Date())}` };
  return [
    { label: "Proposed", at: change.created_at },
    ...approved,
    ...(change.starts === "at_once"
      ? []
      : [{ ...scheduled, at: waits ? null : (change.decided_at ?? change.created_at) }]),
  ];
}

/** How far a change has come that is no version yet, and what is still to come; just its end where it has ended. */
export function changeStages(change: MixChange): Stage[] {
  const open = change.state === "awaiting_approval" || change.state === "scheduled";
  if (change.state === "rejected") return before(change).slice(0, 2);
  if (!open) {
    const ended = change.state === "needs_attention" ? "Stopped" : capital(change.state);
    return [
      ...before(change).filter(({ at }) => at !== null),
      { label: ended, at: change.settled_at },
    ];
  }
  const rest = ["Made a version", "Seen", "Agreed", "Applied"];
  return [...before(change), ...rest.map((label) => ({ label, at: null }))];
}

/** The life of a version: proposed → seen → agreed at step N → applied on n of N ranks; what it was before, first. */
export function versionStages(version: MixVersion, change?: MixChange): Stage[] {
  const { life } = version;
  const agreed =
    life.agreed_step === null ? "Agreed" : `Agreed at step ${formatCount(life.agreed_step)}`;
  const made = { label: `Made v${version.version}`, at: life.proposed_at };
  return [
    ...(change ? [...before(change), made] : [{ label: "Proposed", at: life.proposed_at }]),
    { label: "Seen", at: life.seen_at },
    { label: agreed, at: life.agreed_at },
    {
      label: `Applied on ${formatCount(life.applied_ranks)} of ${formatCount(life.total_ranks)} ranks`,
      at: life.applied_at,
    },
  ];
}

const capital = (word: string) => `${word.charAt(0).toUpperCase()}${word.slice(1)}`;
