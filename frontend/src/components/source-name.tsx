import { sourceColor } from "@/lib/source-colors";

import classes from "./source-name.module.css";

/** A source's name with its colour, by its place in the job. */
export function SourceName({ name, index }: { name: string; index: number }) {
  return (
    <span className={classes.name}>
      <span
        className={classes.swatch}
        style={{ backgroundColor: sourceColor(index) }}
        aria-hidden="true"
      />
      {name}
    </span>
  );
}
