import { http, HttpResponse } from "msw";
import { setupServer } from "msw/node";

/** The address of a path of the API as the page asks for it. */
export const at = (path: string) => `http://headrace.test/api/v1${path}`;

/** Stands between the page and the network in unit tests; each test says what is answered. No provider is set up. */
export const server = setupServer(
  http.get(at("/session/methods"), () => HttpResponse.json({ provider: null })),
);
