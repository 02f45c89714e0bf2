import type { AuditEvent } from "@/api/types";
import { CopyableId } from "@/components/copyable-id";
import { Moment } from "@/components/time";

import classes from "./history-page.module.css";

/** Values as the log has them; nothing for what was not there. */
const shown = (value: AuditEvent["before"]) =>
  value === null ? null : JSON.stringify(value, null, 1).replaceAll(/\n\s*/g, " ");

/** One event of the audit log. */
export function AuditRow({ event }: { event: AuditEvent }) {
  const before = shown(event.before);
  const after = shown(event.after);
  return (
    <li className={classes.event}>
      <div className={classes.head}>
        <code className={classes.action}>{event.action}</code>
        <span className={classes.who}>
          {event.actor}, <Moment at={event.at} />
        </span>
        <CopyableId id={event.request_id} label="request" />
      </div>
      {event.reason !== null && <p className={classes.reason}>{event.reason}</p>}
      {(before ?? after) !== null && (
        <details className={classes.details}>
          <summary>Before and after</summary>
          <dl>
            <dt>Before</dt>
            <dd>
              <code>{before ?? "nothing"}</code>
            </dd>
            <dt>After</dt>
            <dd>
              <code>{after ?? "nothing"}</code>
            </dd>
          </dl>
        </details>
      )}
    </li>
  );
}
