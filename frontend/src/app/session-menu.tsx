import { useQuery, useQueryClient } from "@tanstack/react-query";
import { Link, useNavigate } from "@tanstack/react-router";

import { logOut, sessionQuery } from "@/api/queries/session";

import classes from "./app-tools.module.css";

/** Who is logged in, the way to what is theirs, and the way out. */
export function SessionMenu() {
  const client = useQueryClient();
  const navigate = useNavigate();
  const { data: session } = useQuery(sessionQuery());

  const leave = async () => {
    // The page forgets everything even when the server can't be told.
    await logOut().catch(() => undefined);
    client.setQueryData(sessionQuery().queryKey, null);
    // Only once no page is shown any more that would ask for what was cleared.
    await navigate({ to: "/login" });
    client.clear();
  };
  return (
    <>
      <Link
        to="/account"
        className={classes.user}
        aria-label={`Account of ${session?.user.username ?? ""}`}
      >
        {session?.user.username}
      </Link>
      <button type="button" className={classes.tool} onClick={() => void leave()}>
        Log out
      </button>
    </>
  );
}
