import { focusManager, QueryClient, QueryClientProvider, useQuery } from "@tanstack/react-query";
import { act, render } from "@testing-library/react";
import { afterEach, beforeEach, expect, it, vi } from "vitest";

import { FakeEventSource } from "@/testing/fake-event-source";
import { job, JOB_ID } from "@/testing/fixtures";
import { setHidden } from "@/testing/set-hidden";

import { figuresKey } from "../queries/figure";

import { useLiveUpdates } from "./use-live-updates";

beforeEach(() => {
  vi.useFakeTimers();
  vi.stubGlobal("EventSource", FakeEventSource);
});

afterEach(() => {
  setHidden(false);
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

it("asks for nothing while the page is hidden, and for all of it once it is shown", async () => {
  const fetchFigure = vi.fn(() => Promise.resolve("drawn"));
  function Page() {
    useLiveUpdates();
    useQuery({ queryKey: [...figuresKey(JOB_ID), "mix"], queryFn: fetchFigure });
    return null;
  }
  render(
    <QueryClientProvider client={new QueryClient()}>
      <Page />
    </QueryClientProvider>,
  );
  const pass = (ms: number) => act(() => vi.advanceTimersByTimeAsync(ms));
  const hear = (name: string, data: unknown) =>
    act(() => {
      FakeEventSource.latest().say(name, JSON.stringify(data));
    });
  await pass(0);
  expect(fetchFigure).toHaveBeenCalledTimes(1);

  // The second is kept for when charts may be asked for again, and by then nobody looks.
  hear("job", job());
  hear("job", job());
  await pass(500);
  expect(fetchFigure).toHaveBeenCalledTimes(2);
  act(() => {
    setHidden(true);
  });
  expect(focusManager.isFocused()).toBe(false);
  await pass(600_000);
  expect(fetchFigure).toHaveBeenCalledTimes(2);

  act(() => {
    setHidden(false);
  });
  hear("snapshot", { jobs: [] });
  await pass(0);
  expect(fetchFigure.mock.calls.length).toBeGreaterThan(2);
});
