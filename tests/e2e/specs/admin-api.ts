import { expect, type APIRequestContext, type Page } from "@playwright/test";

import { PASSWORD } from "./people";

/** The API with the session of the first user, who may do everything. */
export class Admin {
  private constructor(
    readonly request: APIRequestContext,
    readonly csrf: string,
  ) {}

  static async of(page: Page): Promise<Admin> {
    const answer = await page.request.get("/api/v1/session");
    const { csrf_token: csrf } = (await answer.json()) as { csrf_token: string };
    return new Admin(page.request, csrf);
  }

  /** The reply's JSON; fails the test on a refusal, with the server's words. */
  async send<T>(
    method: "POST" | "PUT" | "PATCH" | "DELETE",
    path: string,
    data?: unknown,
    headers: Record<string, string> = {},
  ): Promise<T> {
    const answer = await this.request.fetch(`/api/v1${path}`, {
      method,
      data,
      headers: { "X-CSRF-Token": this.csrf, ...headers },
    });
    expect(answer.ok(), `${method} ${path}: ${await answer.text()}`).toBe(true);
    const text = await answer.text();
    return (text === "" ? null : JSON.parse(text)) as T;
  }

  /** A project of this spec's own. */
  async project(name: string): Promise<void> {
    await this.send("POST", "/projects", { name });
  }

  /** A job of `project` that has never started, with these sources in equal parts; returns its id. */
  async job(project: string, name: string, sources: readonly string[]): Promise<string> {
    const share = Math.floor(1_000_000 / sources.length);
    const job = await this.send<{ id: string }>("POST", `/projects/${project}/jobs`, {
      name,
      seq_len: 64,
      global_batch_size: 8,
      total_steps: 10_000,
      seed: 1,
      packing: "concat",
      sources: sources.map((source, index) => ({
        name: source,
        weight_ppm: index === 0 ? 1_000_000 - share * (sources.length - 1) : share,
        num_documents: 1000,
        num_tokens: 1_000_000,
        num_shards: 4,
      })),
    });
    return job.id;
  }

  /** A person with a role in `project`. */
  async person(username: string, project: string, role: string): Promise<void> {
    await this.send("POST", "/users", { username, password: PASSWORD });
    await this.send("PUT", `/projects/${project}/members/${username}`, { role });
  }
}
