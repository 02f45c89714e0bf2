import type { CDPSession, Page } from "@playwright/test";

interface TraceEvent {
  name: string;
  tid: number;
  pid: number;
  tdur?: number;
  args?: { name?: string };
}

/**
 * Watches from now on; then tells how long each longer task kept the page's main thread (ms).
 *
 * In the thread's own time: on a machine that others use, the clock on the wall measures them too.
 */
export async function mainThreadTasks(page: Page): Promise<() => Promise<number[]>> {
  const session: CDPSession = await page.context().newCDPSession(page);
  const events: TraceEvent[] = [];
  session.on("Tracing.dataCollected", ({ value }) => {
    events.push(...(value as unknown as TraceEvent[]));
  });
  await session.send("Tracing.start", {
    transferMode: "ReportEvents",
    traceConfig: { includedCategories: ["disabled-by-default-devtools.timeline"] },
  });
  return async () => {
    const complete = new Promise((resolve) => session.once("Tracing.tracingComplete", resolve));
    await session.send("Tracing.end");
    await complete;
    const main = new Set(
      events
        .filter(({ name, args }) => name === "thread_name" && args?.name === "CrRendererMain")
        .map(({ pid, tid }) => `${pid} ${tid}`),
    );
    const tasks = events.filter(
      ({ name, pid, tid }) => name === "RunTask" && main.has(`${pid} ${tid}`),
    );
    if (tasks.length === 0 || tasks.every(({ tdur }) => tdur === undefined))
      throw new Error(`no task was measured in ${events.length} events`);
    return tasks.map(({ tdur }) => Math.round((tdur ?? 0) / 1000)).filter((ms) => ms >= 50);
  };
}
