import { formatMetric } from "@/lib/format";

import classes from "./sparkline.module.css";

const WIDTH = 88;
const HEIGHT = 20;
const PAD = 1.5;

/** The stretches of `values` without a gap, as points of a picture of 88 × 20; the least value is not always 0. */
export function sparkPaths(values: readonly (number | null)[]): string[] {
  const known = values.filter((value) => value !== null);
  const top = Math.max(...known);
  const low = Math.min(...known);
  // A steady line is drawn in the middle, not as noise from edge to edge.
  const span = Math.max(top - low, top * 0.1) || 1;
  const middle = (top + low) / 2;
  const x = (index: number) => PAD + (index * (WIDTH - 2 * PAD)) / Math.max(values.length - 1, 1);
  const y = (value: number) => HEIGHT / 2 - ((value - middle) / span) * (HEIGHT - 2 * PAD);
  const paths: string[] = [];
  let path = "";
  values.forEach((value, index) => {
    if (value === null) {
      if (path !== "") paths.push(path);
      path = "";
    } else {
      path += `${path === "" ? "M" : "L"}${x(index).toFixed(1)} ${y(value).toFixed(1)}`;
    }
  });
  return path === "" ? paths : [...paths, path];
}

interface Props {
  /** One value a minute, oldest first; null where nothing is known. */
  values: readonly (number | null)[];
  /** What the values are, as in "Tokens/s". */
  label: string;
}

/** A line without axes, read out as its range; nothing where fewer than two values are known. */
export function Sparkline({ values, label }: Props) {
  const known = values.filter((value) => value !== null);
  if (known.length < 2) return null;
  const range = `${formatMetric(Math.min(...known))} to ${formatMetric(Math.max(...known))}`;
  const text = `${label} over the last ${values.length} minutes of the run: ${range}`;
  return (
    <svg
      className={classes.line}
      width={WIDTH}
      height={HEIGHT}
      viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
      role="img"
      aria-label={text}
    >
      <title>{text}</title>
      {sparkPaths(values).map((path) => (
        <path key={path} d={path} />
      ))}
    </svg>
  );
}
