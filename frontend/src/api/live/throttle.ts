/** Runs a task at most once in `everyMs` for each key: at once, and once more if it was asked for meanwhile. */
export class KeyedThrottle {
  readonly #everyMs: number;
  readonly #waiting = new Map<
    string,
    { again: boolean; task: () => void; timer: ReturnType<typeof setTimeout> }
  >();

  constructor(everyMs: number) {
    this.#everyMs = everyMs;
  }

  run(key: string, task: () => void): void {
    const waiting = this.#waiting.get(key);
    if (waiting !== undefined) {
      waiting.again = true;
      waiting.task = task;
      return;
    }
    task();
    this.#rest(key, task);
  }

  /** Forgets what is waiting. */
  stop(): void {
    for (const { timer } of this.#waiting.values()) clearTimeout(timer);
    this.#waiting.clear();
  }

  #rest(key: string, task: () => void): void {
    const timer = setTimeout(() => {
      const waiting = this.#waiting.get(key);
      this.#waiting.delete(key);
      if (waiting?.again) this.run(key, waiting.task);
    }, this.#everyMs);
    this.#waiting.set(key, { again: false, task, timer });
  }
}
