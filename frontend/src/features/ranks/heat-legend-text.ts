import type { NumberMetric } from "./heat-metrics";
import { binEnds, type HeatScale } from "./heat-scale";

/** What a step of the scale holds, with units: one whole number, or from its better end to its worse one. */
export function binText(bin: number, scale: HeatScale, metric: NumberMetric): string {
  const [better, worse] = binEnds(bin, scale);
  if (metric.whole && Math.abs(worse - better) < 1) {
    return metric.format(metric.worse === "high" ? Math.ceil(better) : Math.floor(better));
  }
  const [low, high] = better < worse ? [better, worse] : [worse, better];
  return `${metric.format(low)} – ${metric.format(high)}`;
}
