import type { FigureBody } from "@/api/types";

/** Plotly knows no zones: a time is drawn as the wall clock says it. */
const two = (value: number) => String(value).padStart(2, "0");

/** A moment as Plotly takes it, by the clock of the reader. */
export function toWallClock(at: Date): string {
  const day = `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())}`;
  const ms = String(at.getMilliseconds()).padStart(3, "0");
  return `${day} ${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())}.${ms}`;
}

/** A time of the server's figures, UTC without saying so, as a moment. */
export const fromUtc = (text: string) => new Date(`${text.replace(" ", "T")}Z`);

/** The name of the reader's zone: `Europe/Berlin`. */
export const zoneName = () => Intl.DateTimeFormat().resolvedOptions().timeZone;

interface Axis {
  type?: string;
  title?: object;
}
type WithX = Record<string, unknown>;

/** The figure with all its times by the clock of the reader; over anything but time it is left as it is. */
export function inReadersZone(figure: FigureBody): FigureBody {
  const axis = figure.layout.xaxis as Axis | undefined;
  if (axis?.type !== "date") return figure;
  // Every trace has the same times.
  const known = new Map<string, string>();
  const local = (text: unknown): unknown => {
    if (typeof text !== "string") return text;
    const held = known.get(text) ?? toWallClock(fromUtc(text));
    known.set(text, held);
    return held;
  };
  const moved = (item: WithX, keys: readonly string[]): WithX => ({
    ...item,
    ...Object.fromEntries(keys.filter((key) => key in item).map((key) => [key, local(item[key])])),
  });
  const shapes = (figure.layout.shapes ?? []) as WithX[];
  const notes = (figure.layout.annotations ?? []) as WithX[];
  return {
    ...figure,
    data: figure.data.map((trace) => ({ ...trace, x: (trace.x as unknown[]).map(local) })),
    layout: {
      ...figure.layout,
      xaxis: { ...axis, title: { ...axis.title, text: `time (${zoneName()})` } },
      shapes: shapes.map((shape) => moved(shape, ["x0", "x1"])),
      annotations: notes.map((note) => (note.xref === "x" ? moved(note, ["x"]) : note)),
    },
  };
}
