import { formatShare, UNKNOWN } from "@/lib/format";
import type { Share } from "@/lib/units";

import classes from "./data-wait.module.css";

/** Below 1 % of its time spent waiting a rank is fed; from 5 % on, data is what slows training. */
const FED_BELOW = 0.01;
const STARVED_FROM = 0.05;

type Feeding = "fed" | "waits at times" | "starved";

/** The verdict on the share of time that ranks wait for data. */
function feeding(wait: Share): Feeding {
  if (wait < FED_BELOW) return "fed";
  return wait < STARVED_FROM ? "waits at times" : "starved";
}

const TONES: Record<Feeding, string> = { fed: "ok", "waits at times": "warn", starved: "bad" };

/** The share of time the ranks waited for data, with the verdict in a word. */
export function DataWait({ wait }: { wait: Share | null }) {
  if (wait === null) return <>{UNKNOWN}</>;
  const verdict = feeding(wait);
  return (
    <>
      {formatShare(wait)}{" "}
      <span className={classes.verdict} data-tone={TONES[verdict]}>
        {verdict}
      </span>
    </>
  );
}
