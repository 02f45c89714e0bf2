import type { Connection } from "@/api/connection";
import { formatAge } from "@/lib/time";

/** `live`: events arrive; `polling`: answers do; `cut-off`: neither does. */
export type LiveState = "live" | "connecting" | "polling" | "cut-off";

/** After this long without any answer the page is out of date, whatever the sockets say. */
const CUT_OFF_MS = 20_000;

/** What the reader should know of the connection: events, polling instead, or nothing at all. */
export function liveState(
  { stream, answering, lastContactMs }: Connection,
  nowMs: number,
): LiveState {
  const silent = lastContactMs !== null && nowMs - lastContactMs > CUT_OFF_MS;
  if (silent) return "cut-off";
  if (stream === "open") return "live";
  if (!answering) return "cut-off";
  return stream === "connecting" ? "connecting" : "polling";
}

/** The state in words, with the age of the last answer where it matters. */
export function liveText(state: LiveState, lastContactMs: number | null, nowMs: number): string {
  const age = lastContactMs === null ? "never" : `${formatAge(lastContactMs, nowMs)} ago`;
  switch (state) {
    case "live":
      return "Live";
    case "connecting":
      return "Connecting";
    case "polling":
      return `Not live: polling, last update ${age}`;
    case "cut-off":
      return `Not live: last update ${age}, retrying`;
  }
}
