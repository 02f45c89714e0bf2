import { randomUUID } from "node:crypto";

import type { Page } from "@playwright/test";

import { Admin } from "./admin-api";
import { expect, test } from "./harness";

const NUM_POINTS = 300;
const APART = 1000;
const SPIKE_AT = 123_000;
const SOURCES = ["web", "code"];

/** A report of one rank every thousand steps, one of which waited long. */
function reports(): object[] {
  const now = Date.now() / 1000;
  return Array.from({ length: NUM_POINTS }, (_, seq) => {
    const step = seq * APART;
    const sequences = (step + 1) * 8;
    return {
      rank: 0,
      seq,
      time: now - (NUM_POINTS - seq),
      interval_s: 1,
      step,
      steps: 1,
      tokens: 512,
      total_tokens: sequences * 64,
      wait_p50_ms: 0.2,
      wait_p99_ms: 1,
      wait_max_ms: step === SPIKE_AT ? 987 : 3,
      wait_share: 0.002,
      queue_depth: 2,
      rss_bytes: 1_500_000_000,
      bytes_read: 1_000_000,
      host: "node-0",
      local_rank: 0,
      dp_rank: 0,
      dropped: 0,
      mix_revision: "config:1",
      mix_version: null,
      mix_seen: null,
      sources: SOURCES.map((name) => ({
        name,
        ordinal: sequences / 2,
        epoch: 0,
        file: "part-0001.arrow",
        row: 0,
        target_ppm: 500_000,
        sequences: 4,
        tokens: 256,
        loss_sum: 2,
        loss_count: 1,
      })),
    };
  });
}

/** A job of three hundred points with an edit by itself and two edits close together; returns its id. */
async function seed(page: Page): Promise<string> {
  const admin = await Admin.of(page);
  const job = await admin.job("default", `marks-${randomUUID().slice(0, 8)}`, SOURCES);
  const [attempt, lineage] = [randomUUID(), randomUUID()];
  await admin.send("POST", `/jobs/${job}/attempts`, {
    id: attempt,
    lineage,
    parent_lineage: null,
    world_size: 1,
    dp_size: 1,
    resumed_from_step: null,
    started_at: Date.now() / 1000 - NUM_POINTS,
    loader_version: "0.1.0",
    hostname: "node-0",
  });
  await admin.send("POST", `/jobs/${job}/reports`, { attempt, records: reports() });
  for (const [index, step] of [50_000, 200_000, 203_000].entries()) {
    const version = index + 2;
    const weights = { web: 500_000 + 100_000 * index, code: 500_000 - 100_000 * index };
    const reason = `edit ${version}`;
    await admin.send(
      "PUT",
      `/jobs/${job}/mix`,
      { weights: { web: 6 + index, code: 4 - index }, reason },
      { "If-Match": `"v${version - 1}"` },
    );
    await admin.send("POST", `/jobs/${job}/activations`, {
      attempt,
      lineage,
      revision: `service:${version}`,
      step,
      weights_ppm: weights,
      ramp_steps: 0,
      at: Date.now() / 1000,
    });
  }
  return job;
}

test("reaches 300 of 300 points and the spike's step, and opens the record of a mark (U01)", async ({
  page,
}) => {
  const job = await seed(page);
  await page.goto(`/jobs/${job}`);
  const card = page.locator("[data-figure=wait]");
  await card.getByText("Table", { exact: true }).click();
  const rows = card.getByRole("region", { name: /as a table$/ }).getByRole("row");
  await expect(rows).toHaveCount(NUM_POINTS + 1);
  const spike = rows.filter({ has: page.getByText("987", { exact: true }) });
  await expect(spike.getByRole("link", { name: /^Trace step 123\s000$/ })).toBeAttached();

  const mix = page.locator("[data-figure=mix]");
  const label = (text: string) => mix.locator(".annotation-text", { hasText: text });
  await label("v3 +1").click();
  await expect(mix.getByRole("link", { name: "mix version 4 from step 203000" })).toBeVisible();
  await label("v2").click();
  await expect(page).toHaveURL(/\/history#version-2$/);
  await expect(page.getByRole("heading", { name: "v2" })).toBeInViewport();

  await page.goBack();
  await page.getByText(/^Marks in the charts/).click();
  const list = page.getByRole("list", { name: "Marks in the charts" });
  await list.getByRole("link", { name: "mix version 3 from step 200000" }).click();
  await expect(page.getByRole("heading", { name: "v3" })).toBeInViewport();
  // Other specs list the jobs.
  await (await Admin.of(page)).send("PATCH", `/jobs/${job}`, { archived: true });
});
