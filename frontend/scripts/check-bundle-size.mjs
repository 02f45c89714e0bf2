// Fails when what the first page loads is over its budget. Plotly and the pages behind the login are lazy.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";

const BUDGET_BYTES = 250 * 1024;
const built = fileURLToPath(new URL("../../backend/headrace_server/static/", import.meta.url));
const manifest = JSON.parse(readFileSync(join(built, ".vite/manifest.json"), "utf8"));

/** The files a chunk needs at once: itself, its styles and what it imports. */
function filesOf(key, seen = new Set()) {
  if (seen.has(key)) return [];
  seen.add(key);
  const { file, css = [], imports = [] } = manifest[key];
  return [file, ...css, ...imports.flatMap((other) => filesOf(other, seen))];
}

const files = [...new Set(filesOf("index.html"))];
const lazy = files.filter((file) => file.includes("plotly"));
if (lazy.length > 0) {
  console.error(
    `Plotly is part of the first load: ${lazy.join(", ")}; it must be imported lazily only`,
  );
  process.exit(1);
}
const sizes = files.map((file) => [file, gzipSync(readFileSync(join(built, file))).length]);
const total = sizes.reduce((sum, [, size]) => sum + size, 0);
console.log(`first load: ${(total / 1024).toFixed(1)} KB gzip of ${BUDGET_BYTES / 1024} KB`);
if (total > BUDGET_BYTES) {
  for (const [file, size] of sizes) console.error(`  ${(size / 1024).toFixed(1)} KB ${file}`);
  console.error("the first load is over its budget; import what it doesn't need lazily");
  process.exit(1);
}
