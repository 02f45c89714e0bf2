// Fails unless the browser draws figures with the plotly.js that the Python package builds them for.
// The interpreter is $PYTHON, else the repository's .venv.
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const venv = fileURLToPath(new URL("../../.venv/bin/python", import.meta.url));
const python = process.env.PYTHON ?? (existsSync(venv) ? venv : "python3");
const ask = "from plotly.offline import get_plotlyjs_version as v; print(v())";
const run = spawnSync(python, ["-c", ask], { encoding: "utf8" });
if (run.status !== 0) {
  console.error(
    `${python} could not tell the plotly.js version of its plotly package:\n${run.stderr ?? run.error}`,
  );
  process.exit(1);
}
const server = run.stdout.trim();
const manifest = new URL("../node_modules/plotly.js-basic-dist-min/package.json", import.meta.url);
const browser = JSON.parse(readFileSync(manifest, "utf8")).version;
if (server !== browser) {
  console.error(
    `plotly.js is ${browser} in frontend/package.json (plotly.js-basic-dist-min) but ${server} in the Python package; ` +
      "pin the two to releases that carry the same plotly.js",
  );
  process.exit(1);
}
console.log(`plotly.js ${browser} on both sides`);
