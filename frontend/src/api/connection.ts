/** How the page hears from the server; read by the live indicator and the polling fallback. */
export interface Connection {
  /** `open`: events arrive. `down`: they don't, and the queries poll. */
  stream: "connecting" | "open" | "down";
  /** Whether the last plain request got an answer. */
  answering: boolean;
  /** When anything was last heard from the server, in ms since 1970; null before the first answer. */
  lastContactMs: number | null;
}

/** Below this, a newer contact is not worth a new render. */
const CONTACT_GRAIN_MS = 500;

/** Holds the state of the connection for whoever subscribes; see `Connection` for what it says. */
export class ConnectionStore {
  #state: Connection = { stream: "connecting", answering: true, lastContactMs: null };
  readonly #listeners = new Set<() => void>();

  readonly get = (): Connection => this.#state;

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  setStream(stream: Connection["stream"]): void {
    if (stream !== this.#state.stream) this.#set({ stream });
  }

  /** The server was heard, on the stream or by an answer. */
  contact(nowMs: number): void {
    const last = this.#state.lastContactMs ?? 0;
    if (!this.#state.answering || nowMs - last >= CONTACT_GRAIN_MS) {
      this.#set({ answering: true, lastContactMs: nowMs });
    }
  }

  /** A request got no answer at all. */
  unreachable(): void {
    if (this.#state.answering) this.#set({ answering: false });
  }

  #set(change: Partial<Connection>): void {
    this.#state = { ...this.#state, ...change };
    for (const listener of this.#listeners) listener();
  }
}

/** The one connection of this page. */
export const connection = new ConnectionStore();

/** Polling interval for a query's `refetchInterval`: off while events arrive. */
export const pollUnlessLive = (everyMs: number) => () =>
  connection.get().stream === "open" ? false : everyMs;
