type Task = () => Promise<void> | void;

const waiting = new Map<object, Task>();
let isRunning = false;

/** After the next frame, so that one long task is never made of two drawings; a hidden page has no frames. */
const nextFrame = () =>
  new Promise<void>((resolve) => requestAnimationFrame(() => setTimeout(resolve)));

async function run() {
  isRunning = true;
  for (;;) {
    const next = waiting.entries().next().value;
    if (next === undefined) break;
    const [key, task] = next;
    waiting.delete(key);
    await nextFrame();
    try {
      await task();
    } catch {
      // A task says itself when it fails; the others are drawn all the same.
    }
  }
  isRunning = false;
}

/** Draws one chart a frame: `task` runs in its turn, and only the newest of those that wait under one `key`. */
export function drawInTurn(key: object, task: Task): void {
  waiting.delete(key);
  waiting.set(key, task);
  if (!isRunning) void run();
}

/** Nothing is drawn under `key` any more. */
export function forgetDrawing(key: object): void {
  waiting.delete(key);
}
