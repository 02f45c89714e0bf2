import type { MixVersion, Problem } from "./types";

/** The members of a problem, none of them sure: a proxy may have answered. On 412 `current` is the newest version. */
export type ProblemBody = Partial<Problem> & { current?: MixVersion };

/** A request the server answered with an error; `message` is fit to be shown. */
export class ApiProblem extends Error {
  readonly status: number;
  readonly body: ProblemBody;

  constructor(status: number, body: ProblemBody) {
    super(describe(status, body));
    this.name = "ApiProblem";
    this.status = status;
    this.body = body;
  }
}

function describe(status: number, body: ProblemBody): string {
  const main = body.detail ?? body.title ?? `The server answered ${status}.`;
  const details = (body.errors ?? []).map(({ loc, msg }) => `${loc.join(".")}: ${msg}`);
  // One field error usually is the detail itself.
  return details.length === 0 || body.detail?.includes(details[0] ?? "")
    ? main
    : `${main} (${details.join("; ")})`;
}

/** Reads an error body of any kind; something else than JSON (a proxy's page) gives its status only. */
export function toProblem(response: Response, body: unknown): ApiProblem {
  const usable = typeof body === "object" && body !== null ? (body as ProblemBody) : {};
  return new ApiProblem(response.status, usable);
}

/** What to tell the reader about any failure of a request. */
export function errorMessage(error: unknown): string {
  if (error instanceof ApiProblem) return error.message;
  if (error instanceof TypeError) return "The server can't be reached.";
  return error instanceof Error ? error.message : String(error);
}

/** Whether a failure is the server's answer with this HTTP status. */
export const hasStatus = (error: unknown, status: number): error is ApiProblem =>
  error instanceof ApiProblem && error.status === status;
