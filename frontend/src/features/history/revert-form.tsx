import { Button, TextInput } from "@mantine/core";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useEffect, useRef, useState, type SyntheticEvent } from "react";

import { errorMessage, hasStatus } from "@/api/problem";
import { isWaiting, mixKey, revertMix } from "@/api/queries/mix";

import classes from "./history-page.module.css";

interface Props {
  jobId: string;
  version: number;
  /** The newest version, on top of which the old weights are proposed. */
  basis: number;
  onDone: () => void;
}

function explain(error: unknown): string {
  if (!hasStatus(error, 412)) return errorMessage(error);
  const current = error.body.current;
  const what = current
    ? `${current.author} made v${current.version} (“${current.reason}”)`
    : "Someone changed the mix";
  return `${what} meanwhile. Nothing was sent; revert again if you still want to.`;
}

/** Asks why before the weights of an old version are proposed again. */
export function RevertForm({ jobId, version, basis, onDone }: Props) {
  const client = useQueryClient();
  const [reason, setReason] = useState("");
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => field.current?.focus(), []);
  const revert = useMutation({
    mutationFn: () => revertMix(jobId, basis, version, reason.trim()),
    onSuccess: (made) => {
      if (!isWaiting(made)) onDone();
    },
    onSettled: () => client.invalidateQueries({ queryKey: mixKey(jobId) }),
  });
  const submit = (event: SyntheticEvent) => {
    event.preventDefault();
    if (reason.trim() !== "") revert.mutate();
  };
  if (revert.isSuccess && isWaiting(revert.data)) {
    return <p role="status">Sent. It waits for somebody else’s approval.</p>;
  }
  return (
    <form className={classes.form} onSubmit={submit} aria-label={`Revert to v${version}`}>
      <TextInput
        ref={field}
        className={classes.field}
        label={`Why back to the weights of v${version}?`}
        required
        maxLength={500}
        value={reason}
        error={revert.isError ? explain(revert.error) : undefined}
        onChange={(event) => setReason(event.currentTarget.value)}
      />
      <Button type="submit" loading={revert.isPending} disabled={reason.trim() === ""}>
        Make v{basis + 1}
      </Button>
      <Button variant="default" onClick={onDone}>
        Cancel
      </Button>
    </form>
  );
}
