import type { MixVersion } from "@/api/types";
import { WHOLE } from "@/lib/units";

/** What can be done with a source at once, apart from editing weights. */
export type Flow = "pause" | "resume";

/** Whether a source can be paused, or given back its former weight, as the server has it; null for neither. */
export function flowOf(version: MixVersion, source: string): Flow | null {
  const weights = Object.entries(version.weights_ppm);
  if ((version.weights_ppm[source] ?? 0) > 0)
    return weights.some(([name, weight]) => name !== source && weight > 0) ? "pause" : null;
  const back = version.paused[source] ?? 0;
  return back > 0 && back < WHOLE ? "resume" : null;
}

/** The proportions that pausing or resuming a source leads to; the server makes parts per million of them. */
export function proportionsAfter(
  version: MixVersion,
  source: string,
  flow: Flow,
): Record<string, number> {
  if (flow === "pause") return { ...version.weights_ppm, [source]: 0 };
  const back = version.paused[source] ?? 0;
  const rest = Object.entries(version.weights_ppm).map(
    ([name, weight]) => [name, weight * (WHOLE - back)] as const,
  );
  return { ...Object.fromEntries(rest), [source]: back * WHOLE };
}
