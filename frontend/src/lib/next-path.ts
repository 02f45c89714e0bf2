/**
 * Where to go after the login: `next` when it is a path on this origin, the start page otherwise, so that a
 * crafted link can't send anyone elsewhere.
 */
export function nextPath(next: string | undefined): string {
  if (next === undefined || !next.startsWith("/")) return "/";
  const origin = "http://origin.invalid";
  const url = new URL(next, origin);
  // "//host" and "/\host" are other origins to a browser.
  if (url.origin !== origin || url.pathname === "/login") return "/";
  return `${url.pathname}${url.search}${url.hash}`;
}
