import { getRouteApi } from "@tanstack/react-router";

import { HistoryPage } from "@/features/history/history-page";

const route = getRouteApi("/shell/jobs/$jobId/history");

export function HistoryRoute() {
  const { jobId } = route.useParams();
  return <HistoryPage jobId={jobId} />;
}
