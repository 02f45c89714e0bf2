function need(name: string): string {
  const value = process.env[name];
  if (!value)
    throw new Error(`${name} is not set; run these on a stage: python -m tests.e2e.stage`);
  return value;
}

/** What the stage started; a stage need not have everything, and is asked only for what a spec looks at. */
export const environment = {
  get url() {
    return need("E2E_URL");
  },
  get username() {
    return need("E2E_USERNAME");
  },
  get password() {
    return need("E2E_PASSWORD");
  },
  get job() {
    return need("E2E_JOB");
  },
  get ranks() {
    return Number(need("E2E_RANKS"));
  },
  get hostileJob() {
    return need("E2E_HOSTILE_JOB");
  },
  get bigJob() {
    return need("E2E_BIG_JOB");
  },
  get bigRanks() {
    return Number(need("E2E_BIG_RANKS"));
  },
  get bigSlowRank() {
    return Number(need("E2E_BIG_SLOW_RANK"));
  },
  /** Where the training job's shards lie, a key that reads, and the folder of the commands. */
  get corpus() {
    return need("E2E_CORPUS");
  },
  get readKey() {
    return need("E2E_READ_KEY");
  },
  get bin() {
    return need("E2E_BIN");
  },
};

/** Does something to the world that the pages watch, by its name in tests/e2e; returns when it is done. */
export async function act(name: string): Promise<void> {
  const answer = await fetch(`${need("E2E_CONTROL")}/${name}`, { method: "POST" });
  if (!answer.ok) throw new Error(`${name}: ${await answer.text()}`);
}
