import type { Job, JobListed, MixChange, MixVersion, RankState, Session } from "@/api/types";

/** The id of the job that `job()` makes. */
export const JOB_ID = "0b7c1a4e-9d57-4a3f-8f33-6d2f0f1f5a10";

/** A version of the mix in force on two ranks; `change` replaces members. */
export function mixVersion(change: Partial<MixVersion> = {}): MixVersion {
  return {
    version: 3,
    weights_ppm: { code: 500_000, prose: 300_000, legal: 200_000 },
    from_step: null,
    ramp_steps: 0,
    author: "ada",
    reason: "more code",
    created_at: "2026-11-30T10:00:00Z",
    parent: 2,
    origin: "service",
    reverts: null,
    paused: {},
    change: null,
    approved_by: null,
    life: {
      proposed_at: "2026-11-30T10:00:00Z",
      seen_at: "2026-11-30T10:00:00.400Z",
      agreed_step: 1204,
      agreed_at: "2026-11-30T10:00:01Z",
      applied_ranks: 2,
      total_ranks: 2,
      applied_at: "2026-11-30T10:00:02Z",
      state: "applied",
      waiting: null,
    },
    ...change,
  };
}

/** A running job with three sources; `change` replaces members. */
export function job(change: Partial<Job> = {}): Job {
  const sources = [
    ["code", 500_000],
    ["prose", 300_000],
    ["legal", 200_000],
  ] as const;
  return {
    id: JOB_ID,
    project: "default",
    name: "llama-7b",
    created_at: "2026-11-30T09:00:00Z",
    archived: false,
    state: "running",
    state_reason: "2 of 2 ranks report",
    step: 1500,
    total_steps: 10_000,
    tokens: 12_000_000,
    tokens_per_s: 1_234_567,
    ranks_live: 2,
    ranks_total: 2,
    data_wait_share: 0.004,
    mix: sources.map(([source, target]) => ({ source, target_ppm: target, realised_ppm: target })),
    mix_version: 3,
    mix_version_in_force: 3,
    pending_change: null,
    attempt: 1,
    last_report_at: "2026-11-30T10:05:00Z",
    owner: "ada",
    seq_len: 1024,
    global_batch_size: 8,
    seed: 1234,
    packing: "concat",
    tags: {},
    sources: sources.map(([name, weight]) => ({
      name,
      weight_ppm: weight,
      num_documents: 1000,
      num_tokens: 1_000_000,
      num_shards: 4,
      end_ordinal: null,
    })),
    ...change,
  };
}

/** A job as lists have it: with its last minutes; `change` replaces members. */
export function listedJob(change: Partial<JobListed> = {}): JobListed {
  return {
    ...job(),
    tokens_per_s_by_minute: [1_000_000, null, 1_234_567],
    changes_waiting: 0,
    ...change,
  };
}

/** A live rank that keeps up; `change` replaces members. */
export function rankState(change: Partial<RankState> = {}): RankState {
  return {
    rank: 0,
    dp_rank: 0,
    local_rank: 0,
    host: "node-1",
    state: "live",
    step: 1500,
    step_lag: 0,
    tokens_per_s: 600_000,
    wait_p50_ms: 0.2,
    wait_p99_ms: 1.5,
    wait_max_ms: 3,
    wait_share: 0.004,
    queue_depth: 2,
    rss_bytes: 1_500_000_000,
    dropped: 0,
    masked_tokens: 0,
    masked_at: null,
    mix_version: 3,
    mix_revision: "service:3",
    last_report_at: "2026-11-30T10:05:00Z",
    sources: [{ name: "code", ordinal: 10, epoch: 0, file: "/data/code/0001.arrow", row: 17 }],
    ...change,
  };
}

/** A change scheduled for step 5,000 on top of version 3; `change` replaces members. */
export function mixChange(change: Partial<MixChange> = {}): MixChange {
  return {
    id: "11111111-2222-4333-8444-555555555555",
    state: "scheduled",
    why: null,
    kind: "edit",
    starts: "step",
    weights_ppm: { code: 700_000, prose: 180_000, legal: 120_000 },
    at_step: 5000,
    at: null,
    ramp_steps: 0,
    base_version: 3,
    follows: null,
    reverts: null,
    author: "ada",
    reason: "code in the second half",
    created_at: "2026-11-30T10:01:00Z",
    expires_at: null,
    decided_by: null,
    decided_at: null,
    decision_reason: null,
    version: null,
    late_s: null,
    late_steps: null,
    settled_at: null,
    conflict: null,
    ...change,
  };
}

/** The session of somebody with a role in the project `default`. */
export const session = (username: string, role: Session["user"]["roles"][string]): Session => ({
  user: { username, is_admin: false, roles: { default: role } },
  csrf_token: "token",
});
