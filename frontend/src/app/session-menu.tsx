import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";

import { logOut, sessionQuery } from "@/api/queries/session";

import classes from "./app-tools.module.css";

/** Who is logged in, and the way out. */
export function SessionMenu() {
  const client = useQueryClient();
  const navigate = useNavigate();
  const { data: session } = useQuery(sessionQuery());

  const leave = async () => {
    // The page forgets everything even when the server can't be told.
    await logOut().catch(() => undefined);
    client.clear();
    client.setQueryData(sessionQuery().queryKey, null);
    await navigate({ to: "/login" });
  };
  return (
    <>
      <span className={classes.user}>{session?.user.username}</span>
      <button type="button" className={classes.tool} onClick={() => void leave()}>
        Log out
      </button>
    </>
  );
}
