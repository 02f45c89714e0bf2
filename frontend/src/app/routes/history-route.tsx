import { getRouteApi } from "@tanstack/react-router";

import { HistoryPage } from "@/features/history/history-page";

const route = getRouteApi("/shell/jobs/$jobId/history");

/** The address of a job's history, as props. */
export function HistoryRoute() {
  const { jobId } = route.useParams();
  const navigate = route.useNavigate();
  return (
    <HistoryPage
      key={jobId}
      jobId={jobId}
      search={route.useSearch()}
      onSearch={(search) => void navigate({ search })}
    />
  );
}
