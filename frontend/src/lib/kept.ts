/** What a page keeps for as long as the tab lives: over reloads, and over a session that ended and began anew. */

const nameOf = (owner: string, name: string) => `headrace:${name}:${owner}`;

/** What `owner` kept under `name`, if it still has the form that is wanted; null otherwise. */
export function readKept<T>(
  owner: string,
  name: string,
  isWanted: (value: unknown) => value is T,
): T | null {
  try {
    const text = sessionStorage.getItem(nameOf(owner, name));
    const value: unknown = text === null ? null : JSON.parse(text);
    return isWanted(value) ? value : null;
  } catch {
    return null; // no storage here, or no JSON in it
  }
}

/** Keeps a value for `owner`, as JSON; null forgets it. Where there is no storage, nothing is kept. */
export function keep(owner: string, name: string, value: unknown): void {
  try {
    if (value === null) sessionStorage.removeItem(nameOf(owner, name));
    else sessionStorage.setItem(nameOf(owner, name), JSON.stringify(value));
  } catch {
    // A full or forbidden storage: the page works without.
  }
}
