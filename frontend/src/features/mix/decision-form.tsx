import { Button, TextInput } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import { useEffect, useRef, useState, type SyntheticEvent } from "react";

import { errorMessage } from "@/api/problem";

import classes from "./changes.module.css";

interface Props {
  /** What the form is for, for those who don't see it. */
  label: string;
  question: string;
  /** What the button says that does it. */
  verb: string;
  required: boolean;
  onSend: (reason: string) => Promise<unknown>;
  /** Sent, or left; after sending the form is gone with what it was about. */
  onClose: () => void;
}

/** Asks for a reason before something that others will see is done. Escape leaves it. */
export function DecisionForm({ label, question, verb, required, onSend, onClose }: Props) {
  const [reason, setReason] = useState("");
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => field.current?.focus(), []);
  const send = useMutation({ mutationFn: () => onSend(reason.trim()), onSuccess: onClose });
  const missing = required && reason.trim() === "";
  const submit = (event: SyntheticEvent) => {
    event.preventDefault();
    if (!missing && !send.isPending) send.mutate();
  };
  return (
    <form className={classes.decision} onSubmit={submit} aria-label={label}>
      <TextInput
        ref={field}
        className={classes.field}
        label={question}
        required={required}
        withAsterisk={false}
        maxLength={500}
        value={reason}
        error={send.isError ? errorMessage(send.error) : undefined}
        onChange={(event) => setReason(event.currentTarget.value)}
        onKeyDown={(event) => {
          if (event.key === "Escape") onClose();
        }}
      />
      <Button type="submit" loading={send.isPending} disabled={missing}>
        {verb}
      </Button>
      <Button variant="default" onClick={onClose}>
        Keep it as it is
      </Button>
    </form>
  );
}
