import { SystemPage } from "@/features/system/system-page";

/** The state of the service. */
export function SystemRoute() {
  return <SystemPage />;
}
