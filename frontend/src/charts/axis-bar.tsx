import { SegmentedControl } from "@mantine/core";
import type { ReactNode } from "react";

import type { ChartAxis, Range } from "@/api/queries/figure";
import { QuietButton } from "@/components/quiet-button";
import { formatCount, formatMetric } from "@/lib/format";
import { formatDuration, formatLocal } from "@/lib/time";

import classes from "./axis-bar.module.css";

const LABELS: Record<ChartAxis, string> = {
  step: "Step",
  tokens: "Tokens",
  time: "Time",
  elapsed: "Time since start",
};

interface AxisProps<Axis extends ChartAxis> {
  axes: readonly Axis[];
  x: Axis;
  onAxis: (x: Axis) => void;
}

/** What the charts of a page all run over, and how much of it they show. Stays in sight while they scroll. */
export function AxisBar({ children }: { children: ReactNode }) {
  return (
    <div className={classes.bar} role="group" aria-label="Charts">
      {children}
    </div>
  );
}

/** The choice of the axis. */
export function AxisChoice<Axis extends ChartAxis>({ axes, x, onAxis }: AxisProps<Axis>) {
  return (
    <SegmentedControl
      aria-label="Charts run over"
      value={x}
      onChange={onAxis}
      data={axes.map((value) => ({ value, label: LABELS[value] }))}
    />
  );
}

interface ShownProps {
  x: ChartAxis;
  range: Range | null;
  onRange: (range: Range | null) => void;
  /** Another part that can be chosen. */
  children?: ReactNode;
}

/** What part of the axis is shown, and the way back to all of it. */
export function ShownRange({ x, range, onRange, children }: ShownProps) {
  return (
    <span className={classes.shown}>
      {range === null ? "All so far" : rangeText(range, x)}
      {range !== null && (
        <QuietButton framed onClick={() => onRange(null)}>
          Show all
        </QuietButton>
      )}
      {children}
    </span>
  );
}

function rangeText([low, high]: Range, x: ChartAxis): string {
  if (x === "step") return `Steps ${formatCount(low)} to ${formatCount(high)}`;
  if (x === "tokens") return `${formatMetric(low)} to ${formatMetric(high)} tokens`;
  if (x === "elapsed") return `${formatDuration(low)} to ${formatDuration(high)} after the start`;
  const [from, to] = [low, high].map((seconds) => new Date(seconds * 1000).toISOString());
  const now = new Date();
  return `${formatLocal(from ?? "", now)} to ${formatLocal(to ?? "", now)}`;
}
