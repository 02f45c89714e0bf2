import { afterEach, beforeEach, expect, it, vi } from "vitest";

import { KeyedThrottle } from "./throttle";

beforeEach(() => vi.useFakeTimers());
afterEach(() => vi.useRealTimers());

it("never begins a task again before it is done, and rests from its end", async () => {
  const throttle = new KeyedThrottle(1000);
  let finish: (value: null) => void = () => undefined;
  const task = vi.fn(() => new Promise<null>((resolve) => (finish = resolve)));
  throttle.run("ranks", task, 5000);
  throttle.run("ranks", task, 5000);
  await vi.advanceTimersByTimeAsync(20_000);
  expect(task).toHaveBeenCalledTimes(1);
  finish(null);
  await vi.advanceTimersByTimeAsync(4999);
  expect(task).toHaveBeenCalledTimes(1);
  await vi.advanceTimersByTimeAsync(1);
  expect(task).toHaveBeenCalledTimes(2);
  throttle.stop();
});

it("goes on after a task that failed", async () => {
  const throttle = new KeyedThrottle(1000);
  const task = vi.fn(() => Promise.reject(new Error("no answer")));
  throttle.run("ranks", task);
  throttle.run("ranks", task);
  await vi.advanceTimersByTimeAsync(1000);
  expect(task).toHaveBeenCalledTimes(2);
  throttle.stop();
});
