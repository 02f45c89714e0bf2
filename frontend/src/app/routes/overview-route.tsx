import { getRouteApi } from "@tanstack/react-router";

import { JobPage } from "@/features/job/job-page";

const route = getRouteApi("/shell/jobs/$jobId/");

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
