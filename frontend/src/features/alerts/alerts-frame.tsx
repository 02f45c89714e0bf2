import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";

import tabs from "@/components/tabs.module.css";
import { useDocumentTitle } from "@/lib/use-document-title";

import classes from "./alerts.module.css";

interface Props {
  project: string | undefined;
  filter: ReactNode;
  children: ReactNode;
}

/** What both pages of alerts have above them: what is looked at, and the way to the other. */
export function AlertsFrame({ project, filter, children }: Props) {
  useDocumentTitle("Alerts");
  const search = project === undefined ? {} : { project };
  return (
    <>
      <div className={classes.top}>
        <h1>Alerts</h1>
        {filter}
      </div>
      <nav aria-label="Alerts" className={`${tabs.tabs} ${classes.tabs}`}>
        <Link
          to="/alerts"
          search={search}
          className={tabs.tab}
          activeOptions={{ exact: true, includeSearch: false }}
        >
          Alerts
        </Link>
        <Link
          to="/alerts/rules"
          search={search}
          className={tabs.tab}
          activeOptions={{ includeSearch: false }}
        >
          Rules
        </Link>
      </nav>
      {children}
    </>
  );
}
