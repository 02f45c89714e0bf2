import { cleanup, configure } from "@testing-library/react";
import { afterAll, afterEach, beforeAll } from "vitest";

import { server } from "./server";

// jsdom has none of these; Mantine, the charts and the router ask for them.
window.scrollTo = () => undefined;
window.matchMedia = (query: string) =>
  ({
    matches: false,
    media: query,
    addEventListener: () => undefined,
    removeEventListener: () => undefined,
  }) as unknown as MediaQueryList;
window.ResizeObserver = class {
  observe() {}
  unobserve() {}
  disconnect() {}
};
// Never connects: what comes live is tested on streams of its own.
window.EventSource = class extends EventTarget {
  close() {}
} as unknown as typeof EventSource;

HTMLDialogElement.prototype.showModal = function () {
  this.open = true;
  this.querySelector<HTMLElement>("input, select, textarea, button")?.focus();
};
HTMLDialogElement.prototype.close = function () {
  this.open = false;
};

// A busy machine of two cores is slow, and a test that waits longer for what comes is no weaker.
configure({ asyncUtilTimeout: 10_000 });

// A request that a test did not foresee is a failure, not a silent network error.
beforeAll(() => server.listen({ onUnhandledRequest: "error" }));
afterEach(() => {
  cleanup();
  server.resetHandlers();
});
afterAll(() => server.close());
