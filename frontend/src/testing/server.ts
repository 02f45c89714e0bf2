import { setupServer } from "msw/node";

/** Stands between the page and the network in unit tests; each test says what is answered. */
export const server = setupServer();

/** The address of a path of the API as the page asks for it. */
export const at = (path: string) => `http://headrace.test/api/v1${path}`;
