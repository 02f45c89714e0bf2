/** The token of this session; kept in memory only, and given again by GET /session after a reload. */
let token: string | null = null;

/** What X-CSRF-Token must say; null without a session. */
export const getCsrfToken = () => token;

/** Keeps the token of a session, or forgets it. */
export function setCsrfToken(value: string | null): void {
  token = value;
}
