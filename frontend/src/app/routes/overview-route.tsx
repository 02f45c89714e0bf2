import { getRouteApi } from "@tanstack/react-router";

import { JobPage } from "@/features/job/job-page";

const route = getRouteApi("/shell/jobs/$jobId/");

/** The address of a job's overview, with what its charts show, as props. */
export function OverviewRoute() {
  const { jobId } = route.useParams();
  const search = route.useSearch();
  const navigate = route.useNavigate();
  return (
    <JobPage
      jobId={jobId}
      search={search}
      onSearch={(next) => void navigate({ search: next, replace: true, resetScroll: false })}
    />
  );
}
