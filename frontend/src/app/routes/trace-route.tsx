import { getRouteApi } from "@tanstack/react-router";

import { TracePage } from "@/features/trace/trace-page";

const route = getRouteApi("/shell/jobs/$jobId/trace");

/** The address of a traced step as props. */
export function TraceRoute() {
  const { jobId } = route.useParams();
  const { step } = route.useSearch();
  const navigate = route.useNavigate();
  return (
    <TracePage
      jobId={jobId}
      step={step}
      onStep={(next) => void navigate({ search: { step: next } })}
    />
  );
}
