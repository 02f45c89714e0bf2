/** A page of anything that is listed by cursor. */
interface Page<T> {
  items: T[];
  next_cursor?: string | null | undefined;
}

/** Lists of what people make by hand are short; more pages than this would be a mistake somewhere. */
const MAX_PAGES = 25;

/** Every item of a list that is short by nature, page after page. */
export async function everyPage<T>(
  get: (cursor: string | undefined) => Promise<Page<T>>,
): Promise<T[]> {
  const items: T[] = [];
  let cursor: string | undefined;
  for (let page = 0; page < MAX_PAGES; page += 1) {
    const { items: more, next_cursor: next } = await get(cursor);
    items.push(...more);
    if (next === null || next === undefined) break;
    cursor = next;
  }
  return items;
}
