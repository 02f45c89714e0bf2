import { getRouteApi } from "@tanstack/react-router";

import { AlertsPage } from "@/features/alerts/alerts-page";
import { RulesPage } from "@/features/alerts/rules-page";

const alerts = getRouteApi("/shell/alerts");
const rules = getRouteApi("/shell/alerts/rules");

/** The address of the alerts, filter included, as props. */
export function AlertsRoute() {
  const search = alerts.useSearch();
  const navigate = alerts.useNavigate();
  return (
    <AlertsPage
      search={search}
      onSearch={(next) => void navigate({ search: next, replace: true })}
    />
  );
}

/** The project whose rules are shown, as props. */
export function RulesRoute() {
  const { project } = rules.useSearch();
  const navigate = rules.useNavigate();
  return (
    <RulesPage
      project={project}
      onProject={(next) => void navigate({ search: { project: next }, replace: true })}
    />
  );
}
