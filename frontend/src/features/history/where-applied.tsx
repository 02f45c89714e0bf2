import { Link } from "@tanstack/react-router";

import type { Activation, Attempt } from "@/api/types";
import { StateBadge } from "@/components/state-badge";
import { Moment } from "@/components/time";
import { formatCount } from "@/lib/format";

import classes from "./history-page.module.css";

interface Props {
  jobId: string;
  version: number;
  activations: readonly Activation[];
  attempts: readonly Attempt[];
}

/** Where in the run a version took effect: the step, and the attempt with what became of it. */
export function WhereApplied({ jobId, version, activations, attempts }: Props) {
  if (activations.length === 0) return null;
  const byId = new Map(attempts.map((attempt) => [attempt.id, attempt]));
  return (
    <ul className={classes.where} aria-label={`Where v${version} took effect`}>
      {activations.map((activation) => {
        const attempt = byId.get(activation.attempt);
        return (
          <li key={`${activation.attempt}:${activation.revision}`} data-state={attempt?.state}>
            <Link to="/jobs/$jobId" params={{ jobId }}>
              step {formatCount(activation.step)}
              {attempt && ` of attempt ${attempt.number}`}
            </Link>{" "}
            {attempt && <StateBadge state={attempt.state} />}{" "}
            <span className={classes.note}>
              <Moment at={activation.at} />
            </span>
          </li>
        );
      })}
    </ul>
  );
}
