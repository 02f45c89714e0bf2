import type { Job } from "@/api/types";
import { formatCount, formatPpm, formatPpmDelta, UNKNOWN } from "@/lib/format";
import { ppm } from "@/lib/units";

/** A row of a table of differences: what it is of, a text for each job, and whether they are not all the same. */
export interface DifferenceRow {
  label: string;
  cells: readonly string[];
  differs: boolean;
}

const row = (label: string, cells: readonly string[]): DifferenceRow => ({
  label,
  cells,
  differs: new Set(cells).size > 1,
});

const count = (value: number | null) => (value === null ? UNKNOWN : formatCount(value));

/** Every name that any of the jobs has, in the order they come. */
const namesOf = (lists: readonly (readonly string[])[]) => [...new Set(lists.flat())];

/** Seeds may be beyond what a number of JavaScript holds exactly; such a one is said to be about so much. */
const exactly = (value: number) =>
  Number.isSafeInteger(value) ? String(value) : `about ${String(value)}`;

/** How the jobs were configured, a row a setting, tags and sizes of sources included. */
export function configRows(jobs: readonly Job[]): DifferenceRow[] {
  const each = (label: string, of: (job: Job) => string) => row(label, jobs.map(of));
  const sources = namesOf(jobs.map((job) => job.sources.map(({ name }) => name)));
  const tags = namesOf(jobs.map((job) => Object.keys(job.tags)));
  const source = (job: Job, name: string) => job.sources.find((held) => held.name === name);
  return [
    each("Sequence length (tokens)", (job) => count(job.seq_len)),
    each("Global batch (sequences)", (job) => count(job.global_batch_size)),
    each("Tokens a step", (job) => count(job.seq_len * job.global_batch_size)),
    each("Planned steps", (job) => count(job.total_steps)),
    each("Seed", (job) => exactly(job.seed)),
    each("Packing", (job) => job.packing),
    each("Ranks", (job) => count(job.ranks_total)),
    each("Owner", (job) => job.owner),
    ...tags.map((tag) => each(`Tag ${tag}`, (job) => job.tags[tag] ?? UNKNOWN)),
    ...sources.flatMap((name) => [
      each(`${name}: configured weight`, (job) => {
        const held = source(job, name);
        return held === undefined ? "no such source" : formatPpm(ppm(held.weight_ppm));
      }),
      each(`${name}: tokens in an epoch`, (job) => count(source(job, name)?.num_tokens ?? null)),
      each(`${name}: documents`, (job) => count(source(job, name)?.num_documents ?? null)),
    ]),
  ];
}

/** The weights in force, a row a source; from the second job on with the difference to the first. */
export function mixRows(jobs: readonly Job[]): DifferenceRow[] {
  const weights = jobs.map((job) => new Map(job.mix.map((part) => [part.source, part.target_ppm])));
  return namesOf(jobs.map((job) => job.mix.map(({ source }) => source))).map((source) => {
    const held = weights.map((of) => of.get(source));
    const [first] = held;
    const cells = held.map((value, place) => {
      if (value === undefined) return "no such source";
      const text = formatPpm(ppm(value));
      const comparable = place > 0 && first !== undefined && first !== value;
      return comparable ? `${text} (${formatPpmDelta(value - first)})` : text;
    });
    return { label: source, cells, differs: new Set(held).size > 1 };
  });
}
