import { Button } from "@mantine/core";
import { useQueryClient } from "@tanstack/react-query";
import { useRef, useState } from "react";

import { approveChange, changesKey, rejectChange, withdrawChange } from "@/api/queries/changes";
import { mixKey } from "@/api/queries/mix";
import type { MixChange } from "@/api/types";

import classes from "./changes.module.css";
import { DecisionForm } from "./decision-form";

/** What somebody may do with the changes of a job. */
export interface ChangeRights {
  username: string;
  operate: boolean;
  approve: boolean;
}

type Decision = "approve" | "reject" | "withdraw";

interface Props {
  jobId: string;
  change: MixChange;
  rights: ChangeRights;
  /** Brings what the change asks for into the editor; absent where there is none. */
  onTakeUp?: ((change: MixChange) => void) | undefined;
}

const SEND = { approve: approveChange, reject: rejectChange, withdraw: withdrawChange };

function wording(decision: Decision, change: MixChange) {
  switch (decision) {
    case "approve":
      return { question: "Why it may go ahead (may be left out)", verb: "Approve it" };
    case "reject":
      return { question: "Why it may not", verb: "Reject it" };
    case "withdraw":
      return change.state === "needs_attention"
        ? { question: "Why it is not needed (may be left out)", verb: "Dismiss it" }
        : { question: "Why it is cancelled (may be left out)", verb: "Cancel the change" };
  }
}

/** The ways out that a reader has with an open change: each asks for a reason before it is done. */
export function ChangeActions({ jobId, change, rights, onTakeUp }: Props) {
  const client = useQueryClient();
  const [asked, setAsked] = useState<Decision | null>(null);
  const buttons = useRef<HTMLDivElement>(null);
  const awaiting = change.state === "awaiting_approval";
  const own = change.author === rights.username;

  if (asked !== null) {
    return (
      <DecisionForm
        label={`${wording(asked, change).verb}: ${change.reason}`}
        {...wording(asked, change)}
        required={asked === "reject"}
        onSend={async (reason) => {
          try {
            return await SEND[asked](jobId, change.id, reason);
          } finally {
            // Somebody else may have decided first: what there is now is shown either way.
            void client.invalidateQueries({ queryKey: changesKey(jobId) });
            void client.invalidateQueries({ queryKey: mixKey(jobId) });
          }
        }}
        onClose={() => {
          setAsked(null);
          requestAnimationFrame(() => buttons.current?.querySelector("button")?.focus());
        }}
      />
    );
  }
  const button = (decision: Decision, text: string) => (
    <Button variant="default" size="xs" onClick={() => setAsked(decision)}>
      {text}
    </Button>
  );
  return (
    <div className={classes.actions} ref={buttons}>
      {awaiting && rights.approve && !own && button("approve", "Approve…")}
      {awaiting && rights.approve && !own && button("reject", "Reject…")}
      {awaiting && rights.approve && own && (
        <span className={classes.note}>It is your own: somebody else must approve it.</span>
      )}
      {awaiting && !rights.approve && (
        <span className={classes.note}>An approver or an admin of the project may decide.</span>
      )}
      {change.state === "needs_attention" && onTakeUp && (
        <Button size="xs" onClick={() => onTakeUp(change)}>
          Take it up in the editor
        </Button>
      )}
      {rights.operate &&
        button("withdraw", change.state === "needs_attention" ? "Dismiss…" : "Cancel…")}
    </div>
  );
}
