import { useQueryClient } from "@tanstack/react-query";
import { useRouter } from "@tanstack/react-router";
import { useEffect } from "react";

import { onUnauthorized } from "@/api/client";
import { sessionQuery } from "@/api/queries/session";

/** When any request is answered 401, goes to the login, which comes back to this page. */
export function useLoginWhenAsked(): void {
  const client = useQueryClient();
  const router = useRouter();
  useEffect(
    () =>
      onUnauthorized(() => {
        client.setQueryData(sessionQuery().queryKey, null);
        const { pathname, href } = router.state.location;
        if (pathname !== "/login") void router.navigate({ to: "/login", search: { next: href } });
      }),
    [client, router],
  );
}
