import { useQueryClient } from "@tanstack/react-query";
import { useEffect, useSyncExternalStore } from "react";

import { connection, type Connection } from "../connection";

import { applyEvent, EVENT_NAMES } from "./apply-event";
import { openEventStream } from "./event-stream";
import { KeyedThrottle } from "./throttle";

/** Charts and rank tables are fetched again at most this often. */
const REFRESH_MS = 2000;

/** Keeps the query cache live while the component is shown; when events stop, the queries poll. */
export function useLiveUpdates(): void {
  const client = useQueryClient();
  useEffect(() => {
    const throttle = new KeyedThrottle(REFRESH_MS);
    const close = openEventStream({
      url: "/api/v1/events",
      names: EVENT_NAMES,
      onEvent: (event) => applyEvent(client, throttle, event),
      onContact: () => connection.contact(Date.now()),
      onState: (state) => {
        const before = connection.get().stream;
        // What waits its turn would be asked for while nobody looks.
        if (state === "paused") throttle.stop();
        // Whoever sees a page that was hidden sees it reconnect; the snapshot then fetches what it missed.
        connection.setStream(state === "paused" ? "connecting" : state);
        // Asks each query for its polling interval again.
        if (state === "down" && before !== "down") void client.invalidateQueries();
      },
    });
    return () => {
      close();
      throttle.stop();
      connection.setStream("connecting");
    };
  }, [client]);
}

/** The state of the connection, as the page last knew it. */
export const useConnection = (): Connection =>
  useSyncExternalStore(connection.subscribe, connection.get);
