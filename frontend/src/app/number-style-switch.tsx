import { formatMetric } from "@/lib/format";
import { setNumberStyle, useNumberStyle } from "@/lib/number-style";

import classes from "./app-tools.module.css";

const EXAMPLE = 1_234_567;

/** Writes large quantities with a metric prefix or in full; the choice is kept in this browser. */
export function NumberStyleSwitch() {
  const style = useNumberStyle();
  const next = style === "si" ? "full" : "si";
  const said = style === "si" ? "with a metric prefix" : "in full";
  const other = style === "si" ? "numbers in full" : "a metric prefix";
  return (
    <button
      type="button"
      className={classes.tool}
      onClick={() => setNumberStyle(next)}
      aria-label={`${formatMetric(EXAMPLE)}: large numbers ${said}. Switch to ${other}`}
      title={`Large numbers ${said}`}
    >
      {formatMetric(EXAMPLE)}
    </button>
  );
}
