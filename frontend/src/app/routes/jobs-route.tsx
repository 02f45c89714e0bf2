import { getRouteApi } from "@tanstack/react-router";

import { JobsPage } from "@/features/jobs/jobs-page";

const route = getRouteApi("/shell/jobs");

/** The address of the job list, filter included, as props. */
export function JobsRoute() {
  const search = route.useSearch();
  const navigate = route.useNavigate();
  return (
    <JobsPage search={search} onSearch={(next) => void navigate({ search: next, replace: true })} />
  );
}
