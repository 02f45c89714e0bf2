import { Link } from "@tanstack/react-router";

import type { Alert } from "@/api/types";
import { RecordCell, RecordRow, RecordTable } from "@/components/record-table";
import { Moment } from "@/components/time";
import { formatSpan } from "@/lib/time";

import { AlertFacts } from "./alert-row";
import classes from "./alerts.module.css";

/** Resolved alerts, newest first: what was wrong, for how long, and why it is over. */
export function HistoryTable({ alerts }: { alerts: readonly Alert[] }) {
  return (
    <RecordTable label="Resolved alerts" columns={["Alert", "Fired", "Lasted", "Resolved because"]}>
      {alerts.map((alert) => (
        <RecordRow
          key={alert.id}
          name={
            <>
              {alert.rule_name}{" "}
              <Link
                to="/jobs/$jobId"
                params={{ jobId: alert.job }}
                search={{}}
                className={classes.inText}
              >
                {alert.job_name}
              </Link>
              <span className={classes.small}>{alert.message}</span>
              <AlertFacts alert={alert} />
            </>
          }
        >
          <RecordCell label="Fired">
            <Moment at={alert.fired_at} />
          </RecordCell>
          <RecordCell label="Lasted">
            {alert.resolved_at === null ? "–" : formatSpan(alert.fired_at, alert.resolved_at)}
          </RecordCell>
          <RecordCell label="Resolved because">
            {alert.resolution}
            {alert.comment !== null && (
              <span className={classes.small}>
                {alert.acknowledged_by}: “{alert.comment}”
              </span>
            )}
          </RecordCell>
        </RecordRow>
      ))}
    </RecordTable>
  );
}
