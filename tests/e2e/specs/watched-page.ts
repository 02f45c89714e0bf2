import { expect, type Page } from "@playwright/test";

import { environment } from "./environment";

/** What a page did that it must not do; a spec may allow a failed answer that it provokes. */
export class Watch {
  readonly #page: Page;
  readonly #faults: string[] = [];
  readonly #allowed: RegExp[] = [];

  private constructor(page: Page) {
    this.#page = page;
    page.on("console", (message) => {
      if (message.type() === "error" || message.type() === "warning") {
        this.#faults.push(
          `console ${message.type()}: ${message.text()} (${message.location().url})`,
        );
      }
    });
    page.on("pageerror", (error) => this.#faults.push(`uncaught: ${error.message}`));
    page.on("request", (request) => {
      const url = new URL(request.url());
      const local = url.protocol === "data:" || url.protocol === "blob:";
      if (!local && url.origin !== environment.url)
        this.#faults.push(`left the origin: ${request.url()}`);
    });
  }

  static async of(page: Page): Promise<Watch> {
    const watch = new Watch(page);
    await page.exposeFunction("e2eFault", (fault: string) => watch.#faults.push(fault));
    await page.addInitScript(() => {
      document.addEventListener("securitypolicyviolation", (event) => {
        const tell = (window as unknown as { e2eFault: (fault: string) => void }).e2eFault;
        tell(`policy: ${event.violatedDirective} refused ${event.blockedURI} ${event.sample}`);
      });
    });
    return watch;
  }

  /** Lets faults that match `pattern` pass: a failure that the spec itself provokes. */
  allow(pattern: RegExp): void {
    this.#allowed.push(pattern);
  }

  /** Fails on anything that was seen and not allowed, and on script that ran from data. */
  async expectClean(): Promise<void> {
    const faults = this.#faults.filter(
      (fault) => !this.#allowed.some((pattern) => pattern.test(fault)),
    );
    expect(faults).toEqual([]);
    if (!this.#page.isClosed()) {
      expect(await this.#page.evaluate(() => (window as { pwned?: number }).pwned)).toBeUndefined();
    }
  }
}
