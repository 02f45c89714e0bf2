import { useQuery } from "@tanstack/react-query";
import { Link, useLocation } from "@tanstack/react-router";

import { alertCountQuery } from "@/api/queries/alerts";
import { sessionQuery } from "@/api/queries/session";
import { plural } from "@/lib/format";

import classes from "./app-shell.module.css";

/** The pages that belong to no job, in the order they are listed. */
const PAGES = [
  { to: "/jobs", label: "Jobs" },
  { to: "/compare", label: "Compare" },
  { to: "/alerts", label: "Alerts" },
] as const;

/** Settings that belong to no project have addresses of their own. */
const OTHER_SETTINGS = /^\/(account|server)(\/|$)/;

/** The way to every page that belongs to no job. */
export function MainNav() {
  const isAdmin = useQuery(sessionQuery()).data?.user.is_admin ?? false;
  const isOtherSettings = useLocation({ select: ({ pathname }) => OTHER_SETTINGS.test(pathname) });
  return (
    <nav aria-label="Main" className={classes.nav}>
      {/* The start leads on to the jobs, so that only "Jobs" is marked there. */}
      <Link to="/" className={classes.brand} activeOptions={{ exact: true }}>
        <img src="/favicon.svg" alt="" width="20" height="20" />
        Headrace
      </Link>
      {PAGES.map(({ to, label }) => (
        <Link key={to} to={to} className={classes.page} activeOptions={{ includeSearch: false }}>
          {label}
          {to === "/alerts" && <FiringBadge />}
        </Link>
      ))}
      <Link
        to="/settings"
        className={classes.page}
        aria-current={isOtherSettings ? "page" : undefined}
      >
        Settings
      </Link>
      {isAdmin && (
        <Link to="/system" className={classes.page}>
          System
        </Link>
      )}
    </nav>
  );
}

/** How many alerts fire that nobody has acknowledged; nothing for none. */
function FiringBadge() {
  const firing = useQuery(alertCountQuery()).data?.firing ?? 0;
  if (firing === 0) return null;
  return (
    <span className={classes.badge} title={`${plural(firing, "alert")} firing`}>
      {firing > 99 ? "99+" : firing}
      <span className={classes.hidden}> firing</span>
    </span>
  );
}
