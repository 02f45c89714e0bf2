/** The tags the server's own labels may use; every other "<" in a figure is text. */
const ALLOWED = /^<\/?(?:b|i|br|extra)\s*\/?>/i;

function inertText(text: string): string {
  if (!text.includes("<")) return text;
  return text.replaceAll("<", (_match, offset: number) =>
    ALLOWED.test(text.slice(offset)) ? "<" : "&lt;",
  );
}

/**
 * A copy of a figure in which no text can become a link, an image or a style: Plotly reads a little HTML in its
 * labels, and source names come from outside. The server escapes them too; this holds without it.
 */
export function inertFigure<T>(value: T): T {
  if (typeof value === "string") return inertText(value) as T;
  if (Array.isArray(value)) {
    // Numbers are most of a figure; an array of nothing else needs no copy.
    return (value.every((item) => typeof item === "number") ? value : value.map(inertFigure)) as T;
  }
  if (typeof value === "object" && value !== null) {
    return Object.fromEntries(
      Object.entries(value).map(([key, item]) => [key, inertFigure(item)]),
    ) as T;
  }
  return value;
}
