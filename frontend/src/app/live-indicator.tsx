import { VisuallyHidden } from "@mantine/core";

import { useConnection } from "@/api/live/use-live-updates";
import { useNow } from "@/lib/use-now";

import classes from "./app-tools.module.css";
import { liveState, liveText } from "./live-state";

/** Says whether the page is live, and since when it is not. Only a change of state is announced. */
export function LiveIndicator() {
  const connection = useConnection();
  const now = useNow();
  const state = liveState(connection, now);
  return (
    <>
      <span className={classes.live} data-state={state}>
        <span className={classes.dot} aria-hidden="true" />
        {liveText(state, connection.lastContactMs, now)}
      </span>
      <VisuallyHidden role="status">{state}</VisuallyHidden>
    </>
  );
}
