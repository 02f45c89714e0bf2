/** The token of this session; kept in memory only, and given again by GET /session after a reload. */
let token: string | null = null;

export const getCsrfToken = () => token;

export function setCsrfToken(value: string | null): void {
  token = value;
}
