import { formatPpm } from "@/lib/format";
import { sourceColor } from "@/lib/source-colors";
import type { Ppm } from "@/lib/units";

import classes from "./mix-bar.module.css";

/** A source and its part of the mix. */
export interface MixPart {
  source: string;
  ppm: Ppm;
}

/** A mix as one thin bar, sources in job order, in the colours the charts use. Read out as text. */
export function MixBar({ parts, label }: { parts: readonly MixPart[]; label: string }) {
  const text = parts.map(({ source, ppm }) => `${source} ${formatPpm(ppm)}`).join(", ");
  return (
    <div className={classes.bar} role="img" aria-label={`${label}: ${text}`} title={text}>
      {parts.map(({ source, ppm }, index) => (
        <span
          key={source}
          className={classes.part}
          style={{ flexGrow: ppm, backgroundColor: sourceColor(index) }}
          hidden={ppm === 0}
        />
      ))}
    </div>
  );
}
