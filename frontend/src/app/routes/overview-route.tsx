import { getRouteApi } from "@tanstack/react-router";

import { JobPage } from "@/features/job/job-page";

const route = getRouteApi("/shell/jobs/$jobId/");

/** The address of a job's overview, x axis included, as props. */
export function OverviewRoute() {
  const { jobId } = route.useParams();
  const { x } = route.useSearch();
  const navigate = route.useNavigate();
  return (
    <JobPage
      jobId={jobId}
      x={x}
      onX={(next) => void navigate({ search: { x: next }, replace: true })}
    />
  );
}
