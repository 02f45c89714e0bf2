/** What the history shows, as it stands in the address; the versions when it says nothing. */
export interface HistorySearch {
  view?: "audit";
  q?: string;
  actor?: string;
  action?: string;
  /** Dates, `2026-12-01`, in the reader's zone. */
  from?: string;
  to?: string;
}

const DATE = /^\d{4}-\d{2}-\d{2}$/;

/** Reads an address that anyone may have typed; what is not understood is left out. */
export function historySearch(search: Record<string, unknown>): HistorySearch {
  const text = (name: string) => {
    const value = search[name];
    // A search for "123" arrives as a number.
    return typeof value === "string" || typeof value === "number" ? String(value) : "";
  };
  const texts = ["q", "actor", "action"] as const;
  const dates = ["from", "to"] as const;
  return {
    ...(search.view === "audit" && { view: "audit" as const }),
    ...Object.fromEntries(
      texts
        .map((name) => [name, text(name).slice(0, 200)] as const)
        .filter(([, value]) => value !== ""),
    ),
    ...Object.fromEntries(
      dates.map((name) => [name, text(name)] as const).filter(([, value]) => DATE.test(value)),
    ),
  };
}
