import { getRouteApi } from "@tanstack/react-router";

import { MixPage } from "@/features/mix/mix-page";

const route = getRouteApi("/shell/jobs/$jobId/mix");

export function MixRoute() {
  const { jobId } = route.useParams();
  return <MixPage jobId={jobId} key={jobId} />;
}
