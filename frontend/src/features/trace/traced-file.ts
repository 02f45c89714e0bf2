/** The documents of a step in columns, as `headrace trace --json` names them. Texts come with `--decode` only. */
export interface TracedFile {
  step: number;
  sources: readonly string[];
  paths: readonly string[];
  /** Of each stretch: its slot, the place of its source and of its path above, its row, and its tokens. */
  slot: Float64Array;
  source: Uint32Array;
  path: Uint32Array;
  row: Float64Array;
  start: Float64Array;
  end: Float64Array;
  texts: readonly string[] | null;
}

/** A file is refused with a reason that its reader can act on. */
export class TracedFileError extends Error {}

const MAX_ROWS = 1_000_000;
const NUMBERS = ["slot", "row", "start", "end"] as const;

const fail = (why: string): never => {
  throw new TracedFileError(why);
};

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

function parsed(text: string): unknown {
  if (text.trim() === "") fail("The file is empty. Was the command's output redirected into it?");
  try {
    return JSON.parse(text);
  } catch {
    return fail(
      "This is not JSON. Run the command with --json, and give the file that its output went into.",
    );
  }
}

/** Reads the output of `headrace trace --step N --json`. Throws TracedFileError. */
export function readTraced(text: string): TracedFile {
  const whole = parsed(text);
  if (!isObject(whole))
    return fail("This is JSON, but not an object with a step and its documents.");
  if (Array.isArray(whole.deliveries))
    return fail("This names the steps of a document (--document). Run the command with --step.");
  const { step, documents } = whole;
  if (typeof step !== "number" || !Number.isInteger(step) || step < 0 || !Array.isArray(documents))
    return fail('This is JSON of something else: it must have "step" and "documents".');
  if (documents.length > MAX_ROWS)
    return fail(`The file has ${documents.length} documents; at most ${MAX_ROWS} are shown.`);
  return columns(step, documents);
}

function columns(step: number, documents: readonly unknown[]): TracedFile {
  const num = documents.length;
  const numbers = {
    slot: new Float64Array(num),
    row: new Float64Array(num),
    start: new Float64Array(num),
    end: new Float64Array(num),
  };
  const source = new Uint32Array(num);
  const path = new Uint32Array(num);
  const sources = new Map<string, number>();
  const paths = new Map<string, number>();
  const texts: string[] = [];
  documents.forEach((document, index) => {
    const where = `documents[${index}]`;
    if (!isObject(document)) return fail(`${where} is not an object.`);
    for (const name of NUMBERS) {
      const value = document[name];
      if (typeof value !== "number" || !Number.isSafeInteger(value) || value < 0)
        return fail(`${where}.${name} is ${JSON.stringify(value)}; it must be a whole number.`);
      numbers[name][index] = value;
    }
    source[index] = placeOf(sources, document.source, `${where}.source`);
    path[index] = placeOf(paths, document.path, `${where}.path`);
    if (typeof document.text === "string") texts.push(document.text);
  });
  if (texts.length !== 0 && texts.length !== num)
    return fail("Some documents have a text and some have none.");
  return {
    step,
    sources: [...sources.keys()],
    paths: [...paths.keys()],
    ...numbers,
    source,
    path,
    texts: texts.length > 0 ? texts : null,
  };
}

function placeOf(held: Map<string, number>, value: unknown, where: string): number {
  if (typeof value !== "string")
    return fail(`${where} is ${JSON.stringify(value)}; it must be text.`);
  const known = held.get(value);
  if (known !== undefined) return known;
  held.set(value, held.size);
  return held.size - 1;
}

/** Sequences of each source in the file: how many slots hold some of it. */
export function sequencesOf(file: TracedFile): Map<string, number> {
  const slots = file.sources.map(() => new Set<number>());
  file.slot.forEach((slot, index) => slots[file.source[index] ?? 0]?.add(slot));
  return new Map(file.sources.map((name, place) => [name, slots[place]?.size ?? 0]));
}

/** The rows that a filter leaves: of one source (null: all), with a part of the path, the row or the text. */
export function filtered(file: TracedFile, source: string | null, query: string): Uint32Array {
  const wanted = source === null ? -1 : file.sources.indexOf(source);
  const needle = query.trim().toLowerCase();
  const inPath = file.paths.map((path) => path.toLowerCase().includes(needle));
  const found = new Uint32Array(file.slot.length);
  let num = 0;
  for (let index = 0; index < found.length; index += 1) {
    if (wanted !== -1 && file.source[index] !== wanted) continue;
    const fits =
      needle === "" ||
      inPath[file.path[index] ?? 0] === true ||
      String(file.row[index]) === needle ||
      file.texts?.[index]?.toLowerCase().includes(needle) === true;
    if (fits) found[num++] = index;
  }
  return found.subarray(0, num);
}
