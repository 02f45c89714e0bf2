import type { XAxis } from "@/api/queries/figure";

/** What the charts run over, as it stands in the address; by step when it says nothing. */
export const xAxisSearch = (search: Record<string, unknown>): { x?: XAxis } =>
  search.x === "time" ? { x: "time" } : {};
