import { useQuery } from "@tanstack/react-query";

import { sessionQuery } from "./queries/session";
import type { Session } from "./types";

/** What somebody may do in a project; the server's rules, which decide. The pages only follow them. */
export type Permission = "read" | "operate" | "approve" | "administer";

const BY_ROLE: Readonly<Record<Session["user"]["roles"][string], readonly Permission[]>> = {
  viewer: ["read"],
  operator: ["read", "operate"],
  approver: ["read", "operate", "approve"],
  admin: ["read", "operate", "approve", "administer"],
};

/** Whether the reader of this session may do something in a project. */
export function may(session: Session, project: string, permission: Permission): boolean {
  const role = session.user.roles[project];
  return session.user.is_admin || (role !== undefined && BY_ROLE[role].includes(permission));
}

/** Whether the reader may do something in a project; false until the session is known. */
export function useMay(project: string, permission: Permission): boolean {
  const { data: session } = useQuery(sessionQuery());
  return session != null && may(session, project, permission);
}
