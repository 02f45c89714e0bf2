import { getRouteApi, Outlet } from "@tanstack/react-router";

import { JobFrame } from "@/features/job/job-frame";

const route = getRouteApi("/shell/jobs/$jobId");

/** The job's header and tabs around its pages. */
export function JobRoute() {
  const { jobId } = route.useParams();
  return (
    <JobFrame jobId={jobId}>
      <Outlet />
    </JobFrame>
  );
}
