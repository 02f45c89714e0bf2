import { getRouteApi } from "@tanstack/react-router";

import { RankPage } from "@/features/ranks/rank-page";

const route = getRouteApi("/shell/jobs/$jobId/ranks/$rank");

/** The address of one rank, x axis included, as props. */
export function RankRoute() {
  const { jobId, rank } = route.useParams();
  const { x } = route.useSearch();
  const navigate = route.useNavigate();
  return (
    <RankPage
      jobId={jobId}
      rank={Number(rank)}
      x={x}
      onX={(next) =>
        void navigate({ search: { x: next === "step" ? undefined : next }, replace: true })
      }
    />
  );
}
