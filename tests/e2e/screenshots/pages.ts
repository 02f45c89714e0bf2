import { environment } from "../specs/environment";

/** A page to take a picture of: its file's name, its address, and what must be there before. */
export interface Shot {
  name: string;
  path: (jobId: string) => string;
  /** Whether it has charts. */
  charts?: boolean;
  /** Without a session. */
  loggedOut?: boolean;
}

/** Every page of the dashboard. */
export const SHOTS: readonly Shot[] = [
  { name: "login", path: () => "/login", loggedOut: true },
  { name: "jobs", path: () => "/jobs" },
  { name: "job", path: (job) => `/jobs/${job}`, charts: true },
  { name: "ranks", path: () => `/jobs/${environment.bigJob}/ranks?metric=wait_p99_ms` },
  { name: "rank", path: (job) => `/jobs/${job}/ranks/1`, charts: true },
  { name: "mix", path: (job) => `/jobs/${job}/mix` },
  { name: "history", path: (job) => `/jobs/${job}/history` },
  { name: "trace", path: (job) => `/jobs/${job}/trace?step=40` },
  {
    name: "compare",
    path: (job) => `/compare?jobs=${job},${environment.bigJob}&metric=tokens_per_s`,
    charts: true,
  },
  { name: "alerts", path: () => "/alerts" },
  { name: "members", path: () => "/settings/default/members" },
  { name: "keys", path: () => "/settings/default/keys" },
  { name: "webhooks", path: () => "/settings/default/webhooks" },
  { name: "system", path: () => "/system" },
];
