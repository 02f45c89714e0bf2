import createClient, { type Middleware } from "openapi-fetch";

import { connection } from "./connection";
import { getCsrfToken } from "./csrf-token";
import { toProblem } from "./problem";
import type { paths } from "./schema";

const SAFE_METHODS = new Set(["GET", "HEAD", "OPTIONS"]);
/** Where 401 may say that a password is wrong, which the form that asked says itself. */
const PASSWORD_PATHS = new Set(["/api/v1/session", "/api/v1/me/password"]);

const unauthorizedListeners = new Set<() => void>();

/** Calls `listener` when any request but one that sends a password is answered 401; returns the way to stop. */
export function onUnauthorized(listener: () => void): () => void {
  unauthorizedListeners.add(listener);
  return () => unauthorizedListeners.delete(listener);
}

const middleware: Middleware = {
  onRequest({ request }) {
    const token = getCsrfToken();
    if (token !== null && !SAFE_METHODS.has(request.method)) {
      request.headers.set("X-CSRF-Token", token);
    }
    return request;
  },
  onResponse({ request, response }) {
    connection.contact(Date.now());
    if (response.status === 401 && !PASSWORD_PATHS.has(new URL(request.url).pathname)) {
      for (const listener of unauthorizedListeners) listener();
    }
  },
  onError({ error }) {
    // An abandoned request (a page left, a newer preview) says nothing about the server.
    if (!(error instanceof DOMException && error.name === "AbortError")) connection.unreachable();
  },
};

/** The typed client: paths, parameters and bodies are checked against the server's OpenAPI. */
export const api = createClient<paths>({
  baseUrl: window.location.origin,
  credentials: "same-origin",
  // Looked up at each call, so that tests can stand between.
  fetch: (request) => globalThis.fetch(request),
});
api.use(middleware);

interface Answer<T> {
  data?: T;
  error?: unknown;
  response: Response;
}

/** The data of an answer; throws ApiProblem for a refused one and TypeError when there was none. */
export async function unwrap<T>(request: Promise<Answer<T>>): Promise<T> {
  const { data, error, response } = await request;
  if (!response.ok) throw toProblem(response, error);
  return data as T;
}
