import { getRouteApi } from "@tanstack/react-router";

import { ComparePage } from "@/features/compare/compare-page";

const route = getRouteApi("/shell/compare");

/** The address of a comparison, jobs and axis included, as props. */
export function CompareRoute() {
  const search = route.useSearch();
  const navigate = route.useNavigate();
  return (
    <ComparePage
      search={search}
      onSearch={(next) => void navigate({ search: next, replace: true, resetScroll: false })}
    />
  );
}
