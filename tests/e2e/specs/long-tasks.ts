import { readFile } from "node:fs/promises";

import type { Browser, Page } from "@playwright/test";

/** A task of the page's main thread may be no longer than this. */
export const LONG_TASK_MS = 100;

interface TraceEvent {
  name: string;
  ph: string;
  pid: number;
  tid: number;
  tdur?: number;
  args: { name?: string };
}

/** How long each task of a page took on the processor while `during` ran, in ms, the longest first. */
export async function tasksDuring(
  browser: Browser,
  page: Page,
  path: string,
  during: () => Promise<void>,
): Promise<number[]> {
  await browser.startTracing(page, { categories: ["toplevel"], path });
  try {
    await during();
  } finally {
    await browser.stopTracing();
  }
  const { traceEvents } = JSON.parse(await readFile(path, "utf8")) as { traceEvents: TraceEvent[] };
  const thread = ({ pid, tid }: TraceEvent) => `${pid} ${tid}`;
  const mains = new Set(
    traceEvents.filter(({ args }) => args.name === "CrRendererMain").map(thread),
  );
  return traceEvents
    .filter(
      (event) => event.ph === "X" && event.name.includes("RunTask") && mains.has(thread(event)),
    )
    .map(({ tdur = 0 }) => tdur / 1000)
    .sort((a, b) => b - a);
}
