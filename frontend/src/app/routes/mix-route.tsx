import { getRouteApi } from "@tanstack/react-router";

import { MixPage } from "@/features/mix/mix-page";

const route = getRouteApi("/shell/jobs/$jobId/mix");

/** The address of a job's mix as props; another job is another edit. */
export function MixRoute() {
  const { jobId } = route.useParams();
  return <MixPage jobId={jobId} key={jobId} />;
}
