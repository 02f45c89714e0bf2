// Fails when src/api/schema.d.ts is not what src/api/openapi.json generates.
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const folder = mkdtempSync(join(tmpdir(), "headrace-api-"));
try {
  const fresh = join(folder, "schema.d.ts");
  const run = spawnSync("npx", ["openapi-typescript", "src/api/openapi.json", "--output", fresh], {
    encoding: "utf8",
  });
  if (run.status !== 0) throw new Error(`openapi-typescript failed: ${run.stderr}`);
  if (readFileSync(fresh, "utf8") !== readFileSync("src/api/schema.d.ts", "utf8")) {
    console.error("src/api/schema.d.ts is stale: run `npm run api:generate` and commit it");
    process.exitCode = 1;
  }
} finally {
  rmSync(folder, { recursive: true, force: true });
}
