type Task = () => unknown;

interface Waiting {
  again: boolean;
  task: Task;
  everyMs: number;
  timer?: ReturnType<typeof setTimeout>;
}

/**
 * Runs a task at most once in `everyMs` for each key: at once, and once more if it was asked for meanwhile. The time
 * counts from the end of a task that returns a promise, so that what takes long is never begun again before it is done.
 */
export class KeyedThrottle {
  readonly #everyMs: number;
  readonly #waiting = new Map<string, Waiting>();

  constructor(everyMs: number) {
    this.#everyMs = everyMs;
  }

  run(key: string, task: Task, everyMs = this.#everyMs): void {
    const waiting = this.#waiting.get(key);
    if (waiting !== undefined) {
      Object.assign(waiting, { again: true, task, everyMs });
      return;
    }
    const entry: Waiting = { again: false, task, everyMs };
    this.#waiting.set(key, entry);
    const done = task();
    if (done instanceof Promise) {
      void done.catch(() => undefined).then(() => this.#rest(key, entry));
    } else {
      this.#rest(key, entry);
    }
  }

  /** Forgets what is waiting. */
  stop(): void {
    for (const { timer } of this.#waiting.values()) clearTimeout(timer);
    this.#waiting.clear();
  }

  #rest(key: string, entry: Waiting): void {
    // Stopped while the task was under way.
    if (this.#waiting.get(key) !== entry) return;
    entry.timer = setTimeout(() => {
      this.#waiting.delete(key);
      if (entry.again) this.run(key, entry.task, entry.everyMs);
    }, entry.everyMs);
  }
}
