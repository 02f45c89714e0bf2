import { expect, it } from "vitest";

import { configFile, quoted, traceCommand, type Places } from "./trace-command";

const run = {
  url: "http://localhost:8400",
  project: "default",
  job: "llama-7b",
  sources: ["web", "code"],
  step: 12,
};
const places: Places = { paths: { web: "/my data/web" }, eosId: "", bosId: "", lanes: "" };

it("names the sources where they lie, the job and the step", () => {
  expect(traceCommand(run, places)).toBe(
    "HEADRACE_URL=http://localhost:8400 headrace trace 'web=/my data/web' code=/data/code " +
      "--job=llama-7b --step 12 --json > step-12.json",
  );
  const more = { ...places, eosId: "0", lanes: "64" };
  expect(traceCommand({ ...run, project: "team a" }, more)).toContain("HEADRACE_PROJECT='team a'");
  expect(traceCommand(run, more)).toContain("--eos-id 0 --lanes 64");
});

it("lets no name run anything in the shell", () => {
  expect(quoted("$(reboot)`x`;'\n")).toBe(`'$(reboot)\`x\`;'"'"'\n'`);
  const hostile = traceCommand({ ...run, job: "'; rm -rf /; '" }, places);
  expect(hostile).toContain(`'--job='"'"'; rm -rf /; '"'"''`);
  expect(traceCommand({ ...run, job: "-x" }, places)).toContain("--job=-x");
});

it("puts sources whose names the command line would read otherwise into a file", () => {
  const odd = { ...run, sources: ["a=b", "web"] };
  expect(traceCommand(odd, places)).toContain("headrace trace --config run.json --job");
  expect(JSON.parse(configFile(odd, places))).toEqual({
    sources: [
      { name: "a=b", path: "/data/a=b" },
      { name: "web", path: "/my data/web" },
    ],
  });
});
