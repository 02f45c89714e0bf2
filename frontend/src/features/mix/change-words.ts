import type { Job, MixChange, MixVersion } from "@/api/types";
import { startOf } from "@/components/life-stages";
import { formatCount, plural } from "@/lib/format";
import { formatAge, formatUtc } from "@/lib/time";

/** Steps a second, from the tokens a second of a step's size; null while the job reports none. */
export function stepsPerSecond(job: Job): number | null {
  const tokens = job.tokens_per_s;
  return tokens === null || tokens <= 0 ? null : tokens / (job.seq_len * job.global_batch_size);
}

/** How long until a job hands out `step`: "about 3 min at 9.8 steps/s"; null where that can't be told. */
export function untilStep(job: Job, step: number): string | null {
  const rate = stepsPerSecond(job);
  if (rate === null || job.step === null || step <= job.step) return null;
  const left = formatAge(0, ((step - job.step) / rate) * 1000);
  return `about ${left} at ${Number(rate.toPrecision(3))} steps/s`;
}

/** What a change is for, in a line: "at step 50 000, ramp of 100 steps". */
export function purposeOf(change: MixChange, now: Date): string {
  const start = change.starts === "at_once" ? "at once" : `at ${startOf(change, now)}`;
  const ramp = change.ramp_steps === 0 ? "" : `, ramp of ${plural(change.ramp_steps, "step")}`;
  const kind = change.kind === "edit" ? "" : ` (${change.kind})`;
  return `${start}${ramp}${kind}`;
}

/** What a change waits for, in words; why it doesn't any more, otherwise. */
export function waitOf(change: MixChange, job: Job, newest: MixVersion, nowMs: number): string {
  if (change.state === "awaiting_approval") return approvalWait(change, nowMs);
  if (change.state !== "scheduled") return change.why ?? "";
  const lost =
    change.base_version !== null && change.base_version !== newest.version
      ? ` It was made for v${change.base_version}, and v${newest.version} is the newest: it will need attention when its turn comes.`
      : "";
  return `${startWait(change, job, nowMs)}${lost}`;
}

function approvalWait(change: MixChange, nowMs: number): string {
  const until =
    change.expires_at === null
      ? ""
      : ` It expires in ${formatAge(nowMs, Date.parse(change.expires_at))} without one.`;
  return `Waits for an approval by somebody other than ${change.author}.${until}`;
}

function startWait(change: MixChange, job: Job, nowMs: number): string {
  if (change.starts === "time" && change.at !== null) {
    const left = formatAge(nowMs, Date.parse(change.at));
    return `Waits for ${formatUtc(change.at)}, in ${left}.`;
  }
  if (change.at_step === null) return "Waits for the server to carry it out.";
  const at = job.step === null ? "has not started" : `is at ${formatCount(job.step)}`;
  const left = untilStep(job, change.at_step);
  return `Waits for step ${formatCount(change.at_step)}; the job ${at}${left === null ? "" : `, ${left}`}. It becomes a version a minute before.`;
}
