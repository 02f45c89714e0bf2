import type { APIResponse, BrowserContext } from "@playwright/test";

import { expect } from "./harness";

/** A job made for a spec. */
export interface SeededJob {
  id: string;
  name: string;
  tag: (context: BrowserContext, tags: Record<string, string>) => Promise<void>;
  archive: (context: BrowserContext) => Promise<void>;
}

async function answered(answer: APIResponse): Promise<unknown> {
  expect(answer.ok(), await answer.text()).toBe(true);
  return answer.json();
}

async function csrf(context: BrowserContext): Promise<Record<string, string>> {
  const session = (await answered(await context.request.get("/api/v1/session"))) as {
    csrf_token: string;
  };
  return { "X-CSRF-Token": session.csrf_token };
}

/** Registers `num` jobs `prefix-000`, `prefix-001`, … with a live attempt each. */
export async function seedJobs(
  context: BrowserContext,
  prefix: string,
  num: number,
): Promise<SeededJob[]> {
  const headers = await csrf(context);
  const jobs: SeededJob[] = [];
  for (let number = 0; number < num; number += 1) {
    const name = `${prefix}-${String(number).padStart(3, "0")}`;
    const source = (name: string, weight_ppm: number) => ({
      name,
      weight_ppm,
      num_documents: 1000,
      num_tokens: 1_000_000,
      num_shards: 4,
    });
    const made = await context.request.post("/api/v1/projects/default/jobs", {
      headers,
      data: {
        name,
        seq_len: 64,
        global_batch_size: 8,
        total_steps: 10_000,
        seed: number,
        packing: "concat",
        sources: [source("web", 600_000), source("code", 250_000), source("books", 150_000)],
      },
    });
    const { id } = (await answered(made)) as { id: string };
    const patch = async (context: BrowserContext, data: object) => {
      const path = `/api/v1/jobs/${id}`;
      await answered(await context.request.patch(path, { headers: await csrf(context), data }));
    };
    jobs.push({
      id,
      name,
      tag: (context, tags) => patch(context, { tags }),
      archive: (context) => patch(context, { archived: true }),
    });
  }
  return jobs;
}
