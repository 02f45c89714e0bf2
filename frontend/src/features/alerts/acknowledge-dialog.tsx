import { Textarea } from "@mantine/core";
import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";

import { acknowledgeAlert, alertsKey } from "@/api/queries/alerts";
import type { Alert } from "@/api/types";
import { ActionForm } from "@/components/action-form";
import { Dialog } from "@/components/dialog";

/** Says that somebody looks into an alert, and what they know. */
export function AcknowledgeDialog({ alert, onClose }: { alert: Alert; onClose: () => void }) {
  const client = useQueryClient();
  const [comment, setComment] = useState(alert.comment ?? "");
  return (
    <Dialog title={`Acknowledge ${alert.rule_name}`} onClose={onClose}>
      <ActionForm
        submit="Acknowledge"
        fields={["comment"]}
        disabled={comment.trim() === ""}
        onSubmit={() => acknowledgeAlert(alert.id, comment.trim())}
        onCancel={onClose}
        onDone={() => {
          void client.invalidateQueries({ queryKey: alertsKey });
          onClose();
        }}
      >
        {(errors) => (
          <Textarea
            label="What do you know, or do?"
            description="Others see it beside the alert, which resolves by itself all the same."
            maxLength={500}
            minRows={2}
            value={comment}
            error={errors.of("comment")}
            onChange={(event) => setComment(event.currentTarget.value)}
          />
        )}
      </ActionForm>
    </Dialog>
  );
}
