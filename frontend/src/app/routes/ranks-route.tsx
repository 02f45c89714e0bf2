import { getRouteApi } from "@tanstack/react-router";

import { RanksPage } from "@/features/ranks/ranks-page";

const route = getRouteApi("/shell/jobs/$jobId/ranks");

export function RanksRoute() {
  const { jobId } = route.useParams();
  const search = route.useSearch();
  const navigate = route.useNavigate();
  return (
    <RanksPage
      jobId={jobId}
      search={search}
      onSearch={(next) => void navigate({ search: next, replace: true })}
    />
  );
}
