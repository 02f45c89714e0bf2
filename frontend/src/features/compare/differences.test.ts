import { expect, it } from "vitest";

import { job } from "@/testing/fixtures";

import { configRows, mixRows } from "./differences";

const first = job({ tags: { team: "x" } });
const second = job({
  id: "2",
  seq_len: 2048,
  seed: 2 ** 60,
  mix: [
    { source: "code", target_ppm: 600_000, realised_ppm: null },
    { source: "prose", target_ppm: 300_000, realised_ppm: null },
    { source: "web", target_ppm: 100_000, realised_ppm: null },
  ],
});

it("tells settings that differ from those that don't", () => {
  const rows = configRows([first, second]);
  const differing = rows.filter(({ differs }) => differs).map(({ label }) => label);
  expect(differing).toEqual(["Sequence length (tokens)", "Tokens a step", "Seed", "Tag team"]);
  const seed = rows.find(({ label }) => label === "Seed");
  expect(seed?.cells).toEqual(["1234", "about 1152921504606847000"]);
  expect(rows.find(({ label }) => label === "Tag team")?.cells).toEqual(["x", "–"]);
  expect(configRows([first, first]).some(({ differs }) => differs)).toBe(false);
});

it("shows weights in percent with the difference to the first job, and which source a job lacks", () => {
  expect(mixRows([first, second])).toEqual([
    { label: "code", cells: ["50.00 %", "60.00 % (+10.00 pp)"], differs: true },
    { label: "prose", cells: ["30.00 %", "30.00 %"], differs: false },
    { label: "legal", cells: ["20.00 %", "no such source"], differs: true },
    { label: "web", cells: ["no such source", "10.00 %"], differs: true },
  ]);
});
