/** A step as it stands in the address. */
export interface TraceSearch {
  step?: number;
}

/** The server's largest step. */
export const MAX_STEP = 2 ** 48;

/** A whole step from a text or a number; undefined for anything else. */
export function readStep(value: unknown): number | undefined {
  const step = typeof value === "string" && /^\d+$/.test(value.trim()) ? Number(value) : value;
  return typeof step === "number" && Number.isInteger(step) && step >= 0 && step <= MAX_STEP
    ? step
    : undefined;
}

/** Reads an address that anyone may have typed; what is no step is left out. */
export function traceSearch(search: Record<string, unknown>): TraceSearch {
  const step = readStep(search.step);
  return step === undefined ? {} : { step };
}
