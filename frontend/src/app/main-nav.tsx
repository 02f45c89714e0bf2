import { Link } from "@tanstack/react-router";

import classes from "./app-shell.module.css";

/** The pages that belong to no job, in the order they are listed. */
const PAGES = [{ to: "/jobs", label: "Jobs" }] as const;

/** The way to every page that belongs to no job. */
export function MainNav() {
  return (
    <nav aria-label="Main" className={classes.nav}>
      <Link to="/jobs" className={classes.brand} activeOptions={{ includeSearch: false }}>
        <img src="/favicon.svg" alt="" width="20" height="20" />
        Headrace
      </Link>
      {PAGES.map(({ to, label }) => (
        <Link key={to} to={to} className={classes.page} activeOptions={{ includeSearch: false }}>
          {label}
        </Link>
      ))}
    </nav>
  );
}
