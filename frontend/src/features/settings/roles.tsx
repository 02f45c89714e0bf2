import { useQuery } from "@tanstack/react-query";

import { sessionQuery } from "@/api/queries/session";
import type { Role } from "@/api/types";
import { NotAllowed } from "@/components/panel";

/** The roles, those that may least first, and what each may do. */
export const ROLES: readonly { value: Role; label: string; about: string }[] = [
  { value: "viewer", label: "viewer", about: "reads" },
  { value: "operator", label: "operator", about: "reads, changes jobs and mixes" },
  { value: "approver", label: "approver", about: "the same, and approves changes of others" },
  { value: "admin", label: "admin", about: "the same, and manages the project" },
];

/** Says that only admins of the project do `what`, and what the reader is here. */
export function AdminsOnly({ project, what }: { project: string; what: string }) {
  const { data: session } = useQuery(sessionQuery());
  const role = session?.user.roles[project];
  return (
    <NotAllowed>
      Only admins of the project {what}. You are {role === undefined ? "no member" : `a ${role}`} of{" "}
      {project}.
    </NotAllowed>
  );
}
