/** Tags of a job by name. */
export type Tags = Readonly<Record<string, string>>;

/** The server's limits. */
const MAX_TAGS = 50;
const MAX_NAME = 200;
const MAX_VALUE = 255;

/** `team=x`, as a filter takes it and a field shows it. */
export const tagText = (name: string, value: string) => (value === "" ? name : `${name}=${value}`);

/** All tags as the text of a field. */
export const tagsText = (tags: Tags) =>
  Object.entries(tags)
    .map(([name, value]) => tagText(name, value))
    .join(", ");

/** Reads `team=x, size=7b, keep`; a reason in words where it can't be taken. */
export function readTags(text: string): { tags: Record<string, string> } | { error: string } {
  const tags = new Map<string, string>();
  for (const part of text.split(",").map((each) => each.trim())) {
    if (part === "") continue;
    const [name = "", ...rest] = part.split("=");
    const key = name.trim();
    const value = rest.join("=").trim();
    if (key === "") return { error: `"${part}" has no name; write name=value` };
    if (tags.has(key)) return { error: `"${key}" is there twice; a tag has one value` };
    if (key.length > MAX_NAME)
      return { error: `A name is ${key.length} characters long; ${MAX_NAME} at most` };
    if (value.length > MAX_VALUE)
      return {
        error: `The value of "${key}" is ${value.length} characters long; ${MAX_VALUE} at most`,
      };
    tags.set(key, value);
  }
  if (tags.size > MAX_TAGS) return { error: `${tags.size} tags; ${MAX_TAGS} at most` };
  return { tags: Object.fromEntries(tags) };
}
