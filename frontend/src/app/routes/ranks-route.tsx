import { getRouteApi } from "@tanstack/react-router";

import { RanksPage } from "@/features/ranks/ranks-page";

const route = getRouteApi("/shell/jobs/$jobId/ranks");

/** The address of a job's ranks, sort, filter and metric included, as props. */
export function RanksRoute() {
  const { jobId } = route.useParams();
  const search = route.useSearch();
  const navigate = route.useNavigate();
  return (
    <RanksPage
      jobId={jobId}
      search={search}
      onSearch={(next) => void navigate({ search: next, replace: true })}
      onOpen={(rank) =>
        void navigate({ to: "/jobs/$jobId/ranks/$rank", params: { rank: String(rank) } })
      }
    />
  );
}
