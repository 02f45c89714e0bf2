import type { SystemNotice } from "@/api/types";
import { CopyableText } from "@/components/copyable-text";

import classes from "./system.module.css";

/** What to do, problems first, each with its command or setting; or that there is nothing. */
export function Notices({ notices }: { notices: readonly SystemNotice[] }) {
  if (notices.length === 0) {
    return (
      <p className={classes.well} role="status">
        Nothing needs you.
      </p>
    );
  }
  return (
    <ul className={classes.notices} aria-label="What to do">
      {notices.map(({ level, text, command }) => (
        <li key={text} className={classes.notice} data-level={level}>
          <span className={classes.level}>{level === "problem" ? "Problem" : "Advice"}</span>
          <span className={classes.text}>{text}</span>
          {command !== null && <CopyableText text={command} label="command" />}
        </li>
      ))}
    </ul>
  );
}
