import { Button, TextInput } from "@mantine/core";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useEffect, useRef, useState, type SyntheticEvent } from "react";

import { errorMessage, hasStatus } from "@/api/problem";
import { changesKey } from "@/api/queries/changes";
import { isWaiting, mixKey, revertMix } from "@/api/queries/mix";
import type { MixVersion } from "@/api/types";
import { ThreeWayTable } from "@/components/three-way-table";
import { keep, readKept } from "@/lib/kept";
import { ppm } from "@/lib/units";

import classes from "./history-page.module.css";
import { isKeptRevert, revertName, type KeptRevert } from "./kept-revert";

interface Props {
  jobId: string;
  /** Whose weights are to come back. */
  version: MixVersion;
  newest: MixVersion;
  reader: string;
  onDone: () => void;
}

/**
 * Asks why before the weights of an old version are proposed again, on top of the version that the reader saw: a newer
 * one is shown with both sides first. What was typed survives a reload in this tab.
 */
export function RevertForm({ jobId, version, newest, reader, onDone }: Props) {
  const client = useQueryClient();
  const name = revertName(jobId);
  const [edit, setEdit] = useState<KeptRevert>(() => {
    const kept = readKept(reader, name, isKeptRevert);
    return kept?.version === version.version
      ? kept
      : { version: version.version, basis: newest, reason: "" };
  });
  const { basis, reason } = edit;
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => field.current?.focus(), []);
  useEffect(() => keep(reader, name, reason === "" ? null : edit), [reader, name, reason, edit]);

  const close = () => {
    keep(reader, name, null);
    onDone();
  };
  const revert = useMutation({
    mutationFn: () => revertMix(jobId, basis.version, version.version, reason.trim()),
    onSuccess: (made) => {
      if (isWaiting(made)) keep(reader, name, null);
      else close();
    },
    onSettled: async () => {
      void client.invalidateQueries({ queryKey: changesKey(jobId) });
      await client.invalidateQueries({ queryKey: mixKey(jobId) });
    },
  });
  const current = hasStatus(revert.error, 412) ? (revert.error.body.current ?? null) : null;
  const ahead = current !== null && current.version > newest.version ? current : newest;
  const behind = ahead.version > basis.version;
  const submit = (event: SyntheticEvent) => {
    event.preventDefault();
    if (reason.trim() !== "" && !behind && !revert.isPending) revert.mutate();
  };
  if (revert.isSuccess && isWaiting(revert.data)) {
    return <p role="status">Sent. It waits for somebody else’s approval, on the Mix page.</p>;
  }
  const refused = revert.isError && !hasStatus(revert.error, 412);
  return (
    <form className={classes.form} onSubmit={submit} aria-label={`Revert to v${version.version}`}>
      {behind && <Collision basis={basis} theirs={ahead} version={version} />}
      <TextInput
        ref={field}
        className={classes.field}
        label={`Why back to the weights of v${version.version}?`}
        required
        maxLength={500}
        value={reason}
        error={refused ? errorMessage(revert.error) : undefined}
        onChange={(event) => setEdit({ ...edit, reason: event.currentTarget.value })}
        onKeyDown={(event) => {
          if (event.key === "Escape") close();
        }}
      />
      {behind ? (
        <Button
          onClick={() => {
            revert.reset();
            setEdit({ ...edit, basis: ahead });
          }}
        >
          Go on, on top of v{ahead.version}
        </Button>
      ) : (
        <Button type="submit" loading={revert.isPending} disabled={reason.trim() === ""}>
          Make v{basis.version + 1}
        </Button>
      )}
      <Button variant="default" onClick={close}>
        Cancel
      </Button>
    </form>
  );
}

interface CollisionProps {
  basis: KeptRevert["basis"];
  theirs: MixVersion;
  version: MixVersion;
}

/** Who was first, and the sides: before, what they made of it, what the revert would make of it. */
function Collision({ basis, theirs, version }: CollisionProps) {
  const weight = (side: Pick<MixVersion, "weights_ppm">, source: string) =>
    ppm(side.weights_ppm[source] ?? 0);
  return (
    <div className={classes.collision} role="alert">
      <p>
        {theirs.author} made v{theirs.version} (“{theirs.reason}”) meanwhile. Nothing was sent, and
        your reason is kept.
      </p>
      <ThreeWayTable
        before={`Before, v${basis.version}`}
        theirs={`Theirs, v${theirs.version}`}
        mine={`Yours, as v${version.version}`}
        rows={Object.keys(theirs.weights_ppm).map((source, index) => ({
          source,
          index,
          before: weight(basis, source),
          theirs: weight(theirs, source),
          mine: weight(version, source),
        }))}
      />
    </div>
  );
}
