/** A named event with its parsed JSON. */
export interface LiveEvent {
  name: string;
  data: unknown;
}

/** Where to listen, for which events, and whom to tell. */
export interface EventStreamOptions {
  url: string;
  names: readonly string[];
  onEvent: (event: LiveEvent) => void;
  /** Anything was heard, a ping too. */
  onContact: () => void;
  /** `paused`: the page is hidden, and nothing is asked for until it is shown. */
  onState: (state: "open" | "down" | "paused") => void;
}

/** The server pings every 15 s: after this much silence the stream is dead, whatever the socket says. */
const SILENCE_MS = 40_000;
const BACKOFF_MS = [1000, 2000, 4000, 8000, 15_000] as const;
/** A clock that jumps by more than this between two ticks has slept: what the socket says is then of before. */
const TICK_MS = 2000;
const SLEPT_MS = 10_000;

/**
 * Keeps an EventSource open until the returned function is called: reconnects with backoff and jitter
 * after an error of any kind and after silence, and at once when the page is shown again, the machine has slept or
 * the network is back. A hidden page has no stream. A message that is not JSON is left out.
 */
export function openEventStream(options: EventStreamOptions): () => void {
  let source: EventSource | null = null;
  let failures = 0;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let stopped = false;

  const schedule = (delayMs: number, then: () => void) => {
    clearTimeout(timer);
    timer = setTimeout(then, delayMs);
  };

  const heard = () => {
    options.onContact();
    schedule(SILENCE_MS, reconnectLater);
  };

  function reconnectLater() {
    source?.close();
    source = null;
    if (stopped) return;
    options.onState("down");
    const backoff = BACKOFF_MS[Math.min(failures, BACKOFF_MS.length - 1)] ?? 15_000;
    failures += 1;
    schedule(backoff * (0.75 + Math.random() / 2), connect);
  }

  function connect() {
    source?.close();
    const opened = new EventSource(options.url);
    source = opened;
    opened.onopen = () => {
      failures = 0;
      options.onState("open");
      heard();
    };
    opened.onerror = reconnectLater;
    opened.addEventListener("ping", heard);
    for (const name of options.names) {
      opened.addEventListener(name, (message: MessageEvent<string>) => {
        heard();
        const data = parse(message.data);
        if (data !== undefined) options.onEvent({ name, data });
      });
    }
    schedule(SILENCE_MS, reconnectLater);
  }

  function afresh() {
    failures = 0;
    if (!document.hidden) connect();
  }

  function pauseOrResume() {
    if (!document.hidden) {
      afresh();
      return;
    }
    clearTimeout(timer);
    source?.close();
    source = null;
    options.onState("paused");
  }

  let tickedMs = Date.now();
  const ticks = setInterval(() => {
    const slept = Date.now() - tickedMs > SLEPT_MS;
    tickedMs = Date.now();
    if (slept) afresh();
  }, TICK_MS);

  document.addEventListener("visibilitychange", pauseOrResume);
  window.addEventListener("online", afresh);
  pauseOrResume();
  return () => {
    stopped = true;
    clearTimeout(timer);
    clearInterval(ticks);
    document.removeEventListener("visibilitychange", pauseOrResume);
    window.removeEventListener("online", afresh);
    source?.close();
  };
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}
