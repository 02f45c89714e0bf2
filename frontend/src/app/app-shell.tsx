import { Outlet } from "@tanstack/react-router";

import { useLiveUpdates } from "@/api/live/use-live-updates";

import classes from "./app-shell.module.css";
import { ColorSchemeSwitch } from "./color-scheme-switch";
import { LiveIndicator } from "./live-indicator";
import { MainNav } from "./main-nav";
import { NumberStyleSwitch } from "./number-style-switch";
import { SessionMenu } from "./session-menu";
import { useLoginWhenAsked } from "./use-login-when-asked";

/** What every page but the login has around it: the way home, the state of the connection, theme and session. */
export function AppShell() {
  useLiveUpdates();
  useLoginWhenAsked();
  return (
    <div className={classes.shell}>
      <a href="#main" className={classes.skip}>
        Skip to the page
      </a>
      <header className={classes.header}>
        <MainNav />
        <div className={classes.tools}>
          <LiveIndicator />
          <NumberStyleSwitch />
          <ColorSchemeSwitch />
          <SessionMenu />
        </div>
      </header>
      <main id="main" tabIndex={-1} className={classes.main}>
        <Outlet />
      </main>
    </div>
  );
}
