/** What the reader's machine knows of a run, and the service does not. */
export interface Places {
  /** Where each source lies, by its name. */
  paths: Readonly<Record<string, string>>;
  eosId: string;
  bosId: string;
  lanes: string;
}

/** A run as the command names it. */
export interface TracedRun {
  url: string;
  project: string;
  job: string;
  sources: readonly string[];
  step: number;
}

/** A word of a POSIX shell that stands for just this text. */
export const quoted = (text: string) =>
  /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'"'"'`)}'`;

/** Why a source can't be given on the command line, where its name would be read as something else. */
export const needsConfig = (sources: readonly string[]) =>
  sources.filter((name) => /[=/?]/.test(name) || name.startsWith("-"));

/** Where a source is taken to lie until the reader says where. */
export const pathOf = (places: Places, source: string) =>
  places.paths[source]?.trim() || `/data/${source}`;

/** The command that names a step's documents as JSON, ready for a shell with HEADRACE_TOKEN set. */
export function traceCommand(run: TracedRun, places: Places): string {
  const variables = [`HEADRACE_URL=${quoted(run.url)}`];
  if (run.project !== "default") variables.push(`HEADRACE_PROJECT=${quoted(run.project)}`);
  const odd = needsConfig(run.sources).length > 0;
  const sources = odd
    ? ["--config run.json"]
    : run.sources.map((name) => quoted(`${name}=${pathOf(places, name)}`));
  const options = [
    ["--eos-id", places.eosId],
    ["--bos-id", places.bosId],
    ["--lanes", places.lanes],
  ]
    .filter(([, value]) => value !== undefined && value.trim() !== "")
    .map(([name = "", value = ""]) => `${name} ${quoted(value.trim())}`);
  const parts = [
    ...variables,
    "headrace trace",
    ...sources,
    quoted(`--job=${run.job}`),
    `--step ${run.step}`,
    ...options,
    "--json",
  ];
  return `${parts.join(" ")} > step-${run.step}.json`;
}

/** The file that `--config run.json` takes, where names of sources can't stand on a command line. */
export const configFile = (run: TracedRun, places: Places) =>
  JSON.stringify(
    { sources: run.sources.map((name) => ({ name, path: pathOf(places, name) })) },
    null,
    2,
  );
