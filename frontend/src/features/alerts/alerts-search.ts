import type { AlertKind, AlertState } from "@/api/types";

/** The kinds of rules, in words. */
export const KINDS: readonly { value: AlertKind; label: string }[] = [
  { value: "rank_lost", label: "Rank lost" },
  { value: "job_stalled", label: "Job stalled" },
  { value: "data_wait", label: "Waiting for data" },
  { value: "throughput_drop", label: "Throughput dropped" },
  { value: "mix_drift", label: "Mix drifts" },
  { value: "source_epochs", label: "Source repeated too often" },
  { value: "source_exhaustion", label: "Source near its end" },
];

/** The states of an alert; "firing" ones are those nobody has acknowledged. */
export const STATES: readonly { value: AlertState; label: string }[] = [
  { value: "firing", label: "Firing" },
  { value: "acknowledged", label: "Acknowledged" },
  { value: "resolved", label: "Resolved" },
];

/** The filter of the alerts, as it stands in the address. */
export interface AlertsSearch {
  project?: string;
  job?: string;
  state?: AlertState;
  kind?: AlertKind;
}

/** Reads the filter from an address that anyone may have typed; what is not understood is left out. */
export function alertsSearch(search: Record<string, unknown>): AlertsSearch {
  const state = STATES.find(({ value }) => value === search.state)?.value;
  const kind = KINDS.find(({ value }) => value === search.kind)?.value;
  return {
    ...(typeof search.project === "string" && search.project !== "" && { project: search.project }),
    ...(typeof search.job === "string" && search.job !== "" && { job: search.job }),
    ...(state && { state }),
    ...(kind && { kind }),
  };
}

/** The project whose rules are shown, as it stands in the address. */
export const rulesSearch = (search: Record<string, unknown>): { project?: string } =>
  typeof search.project === "string" && search.project !== "" ? { project: search.project } : {};
