import { NativeSelect, TextInput } from "@mantine/core";
import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";

import { alertsKey, muteAlerts } from "@/api/queries/alerts";
import type { Alert } from "@/api/types";
import { ActionForm } from "@/components/action-form";
import { Dialog } from "@/components/dialog";

const LENGTHS = [
  { value: "3600", label: "1 hour" },
  { value: "14400", label: "4 hours" },
  { value: "86400", label: "1 day" },
  { value: "604800", label: "7 days" },
  { value: "2592000", label: "30 days" },
];

/** Keeps the job of an alert, or its rule, quiet for a while: what fires is listed here, and webhooks are not told. */
export function MuteDialog({ alert, onClose }: { alert: Alert; onClose: () => void }) {
  const client = useQueryClient();
  const [what, setWhat] = useState<"job" | "rule">("job");
  const [forS, setForS] = useState("14400");
  const [reason, setReason] = useState("");
  const { rule } = alert;
  const send = () =>
    muteAlerts(alert.project, {
      ...(what === "rule" && rule !== null ? { rule } : { job: alert.job }),
      for_s: Number(forS),
      reason: reason.trim(),
    });
  return (
    <Dialog title="Mute alerts" onClose={onClose}>
      <ActionForm
        submit="Mute"
        fields={["reason", "for_s"]}
        disabled={reason.trim() === ""}
        onSubmit={send}
        onCancel={onClose}
        onDone={() => {
          void client.invalidateQueries({ queryKey: alertsKey });
          onClose();
        }}
      >
        {(errors) => (
          <>
            <NativeSelect
              label="Keep quiet"
              value={what}
              data={[
                { value: "job", label: `job ${alert.job_name}: all of its alerts` },
                ...(rule === null
                  ? []
                  : [{ value: "rule", label: `rule ${alert.rule_name}: for all jobs` }]),
              ]}
              onChange={(event) => setWhat(event.currentTarget.value as "job" | "rule")}
            />
            <NativeSelect
              label="For"
              value={forS}
              data={LENGTHS}
              error={errors.of("for_s")}
              onChange={(event) => setForS(event.currentTarget.value)}
            />
            <TextInput
              label="Why"
              description="Alerts are still listed here; what fires when the mute ends is told then."
              maxLength={500}
              value={reason}
              error={errors.of("reason")}
              onChange={(event) => setReason(event.currentTarget.value)}
            />
          </>
        )}
      </ActionForm>
    </Dialog>
  );
}
