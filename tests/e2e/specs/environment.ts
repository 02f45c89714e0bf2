function need(name: string): string {
  const value = process.env[name];
  if (!value)
    throw new Error(`${name} is not set; run these through pytest: tests/e2e/test_dashboard.py`);
  return value;
}

/** What test_dashboard.py started. */
export const environment = {
  url: need("E2E_URL"),
  username: need("E2E_USERNAME"),
  password: need("E2E_PASSWORD"),
  job: need("E2E_JOB"),
  ranks: Number(need("E2E_RANKS")),
  hostileJob: need("E2E_HOSTILE_JOB"),
  bigJob: need("E2E_BIG_JOB"),
  bigRanks: Number(need("E2E_BIG_RANKS")),
  bigSlowRank: Number(need("E2E_BIG_SLOW_RANK")),
};

/** Does something to the world that the pages watch, by its name in tests/e2e; returns when it is done. */
export async function act(name: string): Promise<void> {
  const answer = await fetch(`${need("E2E_CONTROL")}/${name}`, { method: "POST" });
  if (!answer.ok) throw new Error(`${name}: ${await answer.text()}`);
}
