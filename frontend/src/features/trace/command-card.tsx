import { Button, TextInput } from "@mantine/core";
import { useState } from "react";

import type { Job } from "@/api/types";

import { configFile, needsConfig, traceCommand, type Places } from "./trace-command";
import classes from "./trace-page.module.css";

const NOTHING: Places = { paths: {}, eosId: "", bosId: "", lanes: "" };

function remembered(key: string): Places {
  try {
    return { ...NOTHING, ...(JSON.parse(localStorage.getItem(key) ?? "{}") as Partial<Places>) };
  } catch {
    return NOTHING;
  }
}

/** The command that names the step's documents, with what the reader knows of where the data lies. */
export function CommandCard({ job, step }: { job: Job; step: number }) {
  const key = `headrace-trace-${job.id}`;
  const [places, setPlaces] = useState(() => remembered(key));
  const [outcome, setOutcome] = useState("");
  const change = (next: Places) => {
    setPlaces(next);
    localStorage.setItem(key, JSON.stringify(next));
  };
  const sources = job.sources.map(({ name }) => name);
  const run = { url: window.location.origin, project: job.project, job: job.name, sources, step };
  const command = traceCommand(run, places);
  const copy = () => {
    const clipboard = navigator.clipboard as Clipboard | undefined;
    const written = clipboard?.writeText(command) ?? Promise.reject(new Error());
    written.then(
      () => setOutcome("copied"),
      () => setOutcome("The browser refuses; select the text"),
    );
  };
  return (
    <>
      <p className={classes.hint}>
        Run it where the data lies, with <code>HEADRACE_TOKEN</code> set to a key that reads. Give
        the ids of separators and the lanes where they are not the defaults.
        {job.sources.some(({ end_ordinal }) => end_ordinal !== null) &&
          " A source of this run has an end (max_epochs): give it, and exclusions, with --config."}
      </p>
      <div className={classes.places}>
        {sources.map((name) => (
          <TextInput
            key={name}
            size="xs"
            label={`Path of ${name}`}
            placeholder={`/data/${name}`}
            value={places.paths[name] ?? ""}
            onChange={(event) =>
              change({ ...places, paths: { ...places.paths, [name]: event.currentTarget.value } })
            }
          />
        ))}
        {(
          [
            ["eosId", "eos_id"],
            ["bosId", "bos_id"],
            ["lanes", "lanes"],
          ] as const
        ).map(([field, label]) => (
          <TextInput
            key={field}
            size="xs"
            label={label}
            placeholder="default"
            value={places[field]}
            onChange={(event) => change({ ...places, [field]: event.currentTarget.value })}
          />
        ))}
      </div>
      {needsConfig(sources).length > 0 && (
        <>
          <p className={classes.hint}>
            Names such as {needsConfig(sources)[0]} can’t stand on a command line. Save this as
            run.json:
          </p>
          <pre className={classes.command}>{configFile(run, places)}</pre>
        </>
      )}
      <pre className={classes.command} data-command>
        {command}
      </pre>
      <Button size="xs" variant="default" onClick={copy}>
        Copy the command
      </Button>{" "}
      <span role="status">{outcome}</span>
    </>
  );
}
