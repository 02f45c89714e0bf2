import { NativeSelect } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";

import { archivedProjectsQuery, projectsQuery } from "@/api/queries/projects";
import { sessionQuery } from "@/api/queries/session";
import { useDocumentTitle } from "@/lib/use-document-title";

import classes from "./settings.module.css";

/** The pages of a project's settings, in the order they are listed. */
const PROJECT_PAGES = [
  { to: "/settings/$project/members", label: "Members" },
  { to: "/settings/$project/keys", label: "API keys" },
  { to: "/settings/$project/webhooks", label: "Webhooks" },
  { to: "/settings/$project/approval", label: "Approval" },
  { to: "/settings/$project/retention", label: "Retention" },
  { to: "/settings/$project/archiving", label: "Archiving" },
] as const;
const SERVER_PAGES = [
  { to: "/server/people", label: "People" },
  { to: "/server/projects", label: "Projects" },
] as const;

interface Props {
  /** The project whose settings are shown, or that the links lead to. */
  project: string | undefined;
  onProject: (project: string) => void;
  children: ReactNode;
}

/** The ways to every setting the reader has something to do with, beside the one that is open. */
export function SettingsFrame({ project, onProject, children }: Props) {
  useDocumentTitle("Settings");
  const active = useQuery(projectsQuery()).data ?? [];
  const archived = useQuery(archivedProjectsQuery()).data ?? [];
  const { data: session } = useQuery(sessionQuery());
  const shown = project ?? active[0]?.name;
  const choices = [
    ...active.map(({ name }) => ({ value: name, label: name })),
    ...archived.map(({ name }) => ({ value: name, label: `${name} (archived)` })),
  ];
  return (
    <div className={classes.frame}>
      <h1>Settings</h1>
      <nav aria-label="Settings" className={classes.nav}>
        {shown !== undefined && (
          <div className={classes.group}>
            <h2>Project</h2>
            <NativeSelect
              aria-label="Project"
              value={shown}
              data={choices.some(({ value }) => value === shown) ? choices : [shown, ...choices]}
              onChange={(event) => onProject(event.currentTarget.value)}
            />
            {PROJECT_PAGES.map(({ to, label }) => (
              <Link key={to} to={to} params={{ project: shown }} className={classes.link}>
                {label}
              </Link>
            ))}
          </div>
        )}
        <div className={classes.group}>
          <h2>You</h2>
          <Link to="/account" className={classes.link}>
            Account
          </Link>
        </div>
        {session?.user.is_admin && (
          <div className={classes.group}>
            <h2>Server</h2>
            {SERVER_PAGES.map(({ to, label }) => (
              <Link key={to} to={to} className={classes.link}>
                {label}
              </Link>
            ))}
          </div>
        )}
      </nav>
      <div className={classes.content}>{children}</div>
    </div>
  );
}
