import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { environment } from "./environment";
import { expect, test } from "./harness";
import { mainThreadTasks } from "./main-thread";

const SOURCES = ["code", "prose", "legal"];
const STEP = 23;

interface Printed {
  step: number;
  documents: { slot: number; source: string; path: string }[];
}

test("traces a step: the record says what the command says, and its file is browsed", async ({
  page,
  jobId,
}) => {
  test.setTimeout(240_000);
  await page.goto(`/jobs/${jobId}/trace?step=${STEP}`);
  const batch = page.locator(`[data-step="${STEP}"]`);
  await expect(batch.locator("[data-certainty=checked], [data-certainty=recorded]")).toBeVisible();
  await expect(batch).toContainText(/v\d+ since step 0/);

  for (const source of SOURCES)
    await page.getByLabel(`Path of ${source}`).fill(join(environment.corpus, source));
  await page.getByLabel("eos_id").fill("0");
  const command = await page.locator("[data-command]").innerText();
  const folder = mkdtempSync(join(tmpdir(), "headrace-trace-"));
  execFileSync("bash", ["-c", command], {
    cwd: folder,
    env: {
      ...process.env,
      PATH: `${environment.bin}:${process.env.PATH ?? ""}`,
      HEADRACE_TOKEN: environment.readKey,
      HEADRACE_CACHE: join(folder, "cache"),
    },
  });
  const file = join(folder, `step-${STEP}.json`);
  const printed = JSON.parse(readFileSync(file, "utf8")) as Printed;
  expect(printed.step).toBe(STEP);
  const table = page.getByRole("region", { name: "The batch by source, as a table" });
  for (const source of SOURCES) {
    const slots = new Set(
      printed.documents.filter((piece) => piece.source === source).map(({ slot }) => slot),
    );
    const row = table.getByRole("row", { name: new RegExp(`^${source}`) });
    await expect(row.getByRole("cell").nth(1)).toHaveText(String(slots.size));
  }

  await page.locator("input[type=file]").setInputFiles(file);
  await expect(page.getByText("The file agrees with the record on every source.")).toBeVisible();
  const total = printed.documents.length;
  await expect(page.getByText(`${total} of ${total} stretches`)).toBeVisible();
  await page.getByRole("combobox", { name: "Source" }).selectOption("prose");
  const prose = printed.documents.filter(({ source }) => source === "prose").length;
  await expect(page.getByText(`${prose} of ${total} stretches`)).toBeVisible();
  const [csv] = await Promise.all([
    page.waitForEvent("download"),
    page.getByRole("button", { name: "CSV", exact: true }).click(),
  ]);
  const lines = (await readFile(await csv.path(), "utf8")).trim().split("\r\n");
  expect(lines).toHaveLength(prose + 1);
  expect(lines[0]).toBe("slot,source,path,row,start (token),end (token)");

  await page.getByRole("button", { name: "Step after" }).click();
  await expect(page).toHaveURL(new RegExp(`step=${STEP + 1}`));
});

test("reads a hundred thousand rows beside the page, hostile names as text, and refuses other files", async ({
  page,
  jobId,
}) => {
  test.setTimeout(120_000);
  const folder = mkdtempSync(join(tmpdir(), "headrace-trace-"));
  const file = join(folder, "large.json");
  const documents = Array.from({ length: 100_000 }, (_, row) => ({
    slot: row % 512,
    source: row % 2 ? "<b>code</b>" : "prose",
    path: "=HYPERLINK(1).arrow",
    row,
    start: 0,
    end: 64,
  }));
  writeFileSync(file, JSON.stringify({ step: 1, documents }));
  await page.goto(`/jobs/${jobId}/trace?step=1`);
  await expect(page.locator("input[type=file]")).toBeVisible();
  const tasks = await mainThreadTasks(page);
  await page.locator("input[type=file]").setInputFiles(file);
  await expect(page.getByText(/100.000 of 100.000 stretches/)).toBeVisible();
  await expect(page.locator("[aria-rowcount='100001']")).toBeVisible();
  await page.getByPlaceholder("Shard, row or text").fill("77777");
  await expect(page.locator("[aria-rowcount='2']")).toBeVisible();
  expect((await tasks()).filter((ms) => ms >= 100)).toEqual([]);
  await expect(page.getByRole("cell", { name: "<b>code</b>" }).first()).toBeVisible();
  await expect(page.getByText("The file is not of this record")).toBeVisible();

  writeFileSync(file, '{"path": "x", "row": 1, "deliveries": []}');
  await page.locator("input[type=file]").setInputFiles(file);
  await expect(page.getByText("This names the steps of a document")).toBeVisible();
  await page.getByText("Paste it instead").click();
  await page.getByLabel("The command's JSON").fill("headrace trace: no such job");
  await page.getByRole("button", { name: "Read" }).click();
  await expect(page.getByText(/^This is not JSON/)).toBeVisible();
});

test("says of a step to come that it is a forecast", async ({ page, jobId }) => {
  await page.goto(`/jobs/${jobId}/trace`);
  await expect(page.getByRole("heading", { name: "No step chosen" })).toBeVisible();
  await page.getByLabel("Step", { exact: true }).fill("19000");
  await page.keyboard.press("Enter");
  await expect(page.locator("[data-certainty=forecast]")).toContainText("still to come");
});
