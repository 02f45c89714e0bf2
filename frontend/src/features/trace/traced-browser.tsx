import { Alert, Button, NativeSelect, Textarea } from "@mantine/core";
import { useMemo, useState, type DragEvent } from "react";

import type { StepTrace } from "@/api/types";
import { SearchBox } from "@/components/search-box";
import { downloadText } from "@/lib/download";
import { formatCount } from "@/lib/format";

import { readFile } from "./read-file";
import classes from "./trace-page.module.css";
import { csvParts } from "./traced-csv";
import { filtered, sequencesOf, type TracedFile } from "./traced-file";
import { TracedTable } from "./traced-table";

interface Props {
  trace: StepTrace;
  sources: readonly string[];
}

/** Takes the command's JSON, dropped, chosen or pasted; it is read in the browser and goes nowhere. */
export function TracedBrowser({ trace, sources }: Props) {
  const [file, setFile] = useState<TracedFile | null>(null);
  const [error, setError] = useState<string | null>(null);
  const [busy, setBusy] = useState(false);
  const [pasted, setPasted] = useState("");
  const [over, setOver] = useState(false);
  const take = (blob: Blob) => {
    setBusy(true);
    setError(null);
    readFile(blob)
      .then(setFile, (failure: unknown) => {
        setFile(null);
        setError(failure instanceof Error ? failure.message : String(failure));
      })
      .finally(() => setBusy(false));
  };
  const drop = (event: DragEvent) => {
    event.preventDefault();
    setOver(false);
    const [dropped] = event.dataTransfer.files;
    if (dropped !== undefined) take(dropped);
  };
  return (
    <>
      {/* Dropping is for the mouse; the field inside does the same by keyboard. */}
      {/* eslint-disable-next-line jsx-a11y/no-noninteractive-element-interactions */}
      <div
        className={classes.drop}
        role="group"
        aria-label="The command's output"
        data-over={over}
        onDragOver={(event) => {
          event.preventDefault();
          setOver(true);
        }}
        onDragLeave={() => setOver(false)}
        onDrop={drop}
      >
        <label className={classes.choose}>
          Drop the file here, or choose it:{" "}
          <input
            type="file"
            accept=".json,application/json"
            onChange={(event) => {
              const [chosen] = event.currentTarget.files ?? [];
              if (chosen !== undefined) take(chosen);
              // The same file, written again, may be chosen again.
              event.currentTarget.value = "";
            }}
          />
        </label>
        <details>
          <summary>Paste it instead</summary>
          <Textarea
            aria-label="The command's JSON"
            rows={4}
            value={pasted}
            onChange={(event) => setPasted(event.currentTarget.value)}
          />
          <Button size="xs" mt="xs" onClick={() => take(new Blob([pasted]))}>
            Read
          </Button>
        </details>
        <p className={classes.hint}>It is read in this browser and sent nowhere.</p>
      </div>
      {busy && <p role="status">Reading the file</p>}
      {error !== null && (
        <Alert color="red" title="This file can't be shown" role="alert">
          {error}
        </Alert>
      )}
      {file !== null && <Browse file={file} trace={trace} sources={sources} />}
    </>
  );
}

function Browse({ file, trace, sources }: Props & { file: TracedFile }) {
  const [source, setSource] = useState<string | null>(null);
  const [query, setQuery] = useState("");
  const rows = useMemo(() => filtered(file, source, query), [file, source, query]);
  const save = () =>
    void csvParts(file, rows).then((parts) =>
      downloadText(`step-${file.step}.csv`, "text/csv", parts.join("")),
    );
  return (
    <>
      <Agreement file={file} trace={trace} />
      <div className={classes.tools}>
        <NativeSelect
          aria-label="Source"
          value={source ?? ""}
          onChange={(event) => setSource(event.currentTarget.value || null)}
          data={[{ value: "", label: "All sources" }, ...file.sources]}
        />
        <SearchBox
          label="Shard, row or text"
          placeholder="Shard, row or text"
          value={query}
          onSettle={setQuery}
        />
        <span role="status">
          {formatCount(rows.length)} of {formatCount(file.slot.length)} stretches
        </span>
        <Button variant="default" size="xs" onClick={save}>
          CSV
        </Button>
      </div>
      {rows.length === 0 ? (
        <p className={classes.hint}>No document matches.</p>
      ) : (
        <TracedTable file={file} rows={rows} sources={sources} />
      )}
    </>
  );
}

/** Whether the file is of the step that is shown, and says what the record says. */
function Agreement({ file, trace }: { file: TracedFile; trace: StepTrace }) {
  if (file.step !== trace.step)
    return (
      <Alert color="yellow" title="Another step" role="alert">
        The file is of step {formatCount(file.step)}; the record above is of step{" "}
        {formatCount(trace.step)}.
      </Alert>
    );
  if (trace.certainty === "unknown") return null;
  const counted = sequencesOf(file);
  const differing = trace.sources.filter(
    ({ source, num_sequences }) => (counted.get(source) ?? 0) !== num_sequences,
  );
  if (differing.length === 0)
    return <p className={classes.agrees}>The file agrees with the record on every source.</p>;
  return (
    <Alert color="red" title="The file is not of this record" role="alert">
      {differing
        .map(
          ({ source, num_sequences }) =>
            `${source}: ${counted.get(source) ?? 0} sequences in the file, ${num_sequences ?? 0} in the record`,
        )
        .join("; ")}
      . Was it made of this job, with the same data and options?
    </Alert>
  );
}
