import { useRouter } from "@tanstack/react-router";

import { ErrorState } from "@/components/page-states";

/** In place of a page that could not be opened: says why, and opens it again when asked. */
export function RouteError({ error }: { error: unknown }) {
  const router = useRouter();
  return <ErrorState error={error} onRetry={() => void router.invalidate()} />;
}
