import { Button } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import { useState } from "react";

import { useMay } from "@/api/permissions";
import type { Alert } from "@/api/types";
import { StateBadge } from "@/components/state-badge";
import { Age, Moment } from "@/components/time";
import { formatCount } from "@/lib/format";

import { AcknowledgeDialog } from "./acknowledge-dialog";
import { fires, formatFigure } from "./alert-units";
import classes from "./alerts.module.css";
import { MuteDialog } from "./mute-dialog";

interface Props {
  alert: Alert;
  onOnlyJob: () => void;
}

/** One open alert: since when, what is wrong in words and figures, who looks into it, and what can be done. */
export function AlertRow({ alert, onOnlyJob }: Props) {
  const mayOperate = useMay(alert.project, "operate");
  const [asked, setAsked] = useState<"acknowledge" | "mute" | null>(null);
  const close = () => setAsked(null);
  return (
    <li
      className={classes.alert}
      data-state={alert.state}
      aria-label={`${alert.rule_name}, ${alert.job_name}`}
    >
      <div className={classes.head}>
        <StateBadge state={alert.state} />
        <h3>{alert.rule_name}</h3>
        <Link to="/jobs/$jobId" params={{ jobId: alert.job }} search={{}}>
          {alert.job_name}
        </Link>
        <span className={classes.dim}>
          for <Age at={alert.fired_at} suffix="" />, since <Moment at={alert.fired_at} />
        </span>
      </div>
      <p className={classes.message}>{alert.message}</p>
      <AlertFacts alert={alert} />
      {alert.acknowledged_at !== null && (
        <p className={classes.message}>
          <strong>{alert.acknowledged_by}</strong> looks into it,{" "}
          <Moment at={alert.acknowledged_at} />
          {alert.comment !== null && <>: “{alert.comment}”</>}
        </p>
      )}
      <div className={classes.buttons}>
        {mayOperate ? (
          <>
            <Button size="xs" onClick={() => setAsked("acknowledge")}>
              {alert.state === "firing" ? "Acknowledge…" : "Change comment…"}
            </Button>
            <Button size="xs" variant="default" onClick={() => setAsked("mute")}>
              Mute…
            </Button>
          </>
        ) : (
          <span className={classes.dim}>Operators of {alert.project} acknowledge and mute.</span>
        )}
        <Button size="xs" variant="default" onClick={onOnlyJob}>
          Only this job
        </Button>
      </div>
      {asked === "acknowledge" && <AcknowledgeDialog alert={alert} onClose={close} />}
      {asked === "mute" && <MuteDialog alert={alert} onClose={close} />}
    </li>
  );
}

/** The figures as they were when it fired, and where in the run that was. */
export function AlertFacts({ alert }: { alert: Alert }) {
  return (
    <p className={classes.facts}>
      <span>
        <strong>{formatFigure(alert.kind, alert.value)}</strong>, fires{" "}
        {fires(alert.kind === "throughput_drop")} {formatFigure(alert.kind, alert.threshold)}
      </span>
      <span>
        {alert.project}, attempt {alert.attempt}
        {alert.step !== null && (
          <>
            ,{" "}
            <Link to="/jobs/$jobId" params={{ jobId: alert.job }} search={{}}>
              step {formatCount(alert.step)}
            </Link>
          </>
        )}
      </span>
      {!alert.announced && <span>muted: webhooks were not told</span>}
    </p>
  );
}
