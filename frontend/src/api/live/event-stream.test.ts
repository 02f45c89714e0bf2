import { afterEach, beforeEach, expect, it, vi } from "vitest";

import { FakeEventSource } from "@/testing/fake-event-source";
import { setHidden } from "@/testing/set-hidden";

import { openEventStream } from "./event-stream";

const opened = () => FakeEventSource.opened;
const latest = () => FakeEventSource.latest();

let closeOpened: (() => void) | undefined;

function open() {
  const onEvent = vi.fn();
  const onState = vi.fn();
  const onContact = vi.fn();
  const close = openEventStream({ url: "/events", names: ["job"], onEvent, onContact, onState });
  closeOpened = close;
  return { onEvent, onState, onContact, close };
}

beforeEach(() => {
  vi.useFakeTimers();
  vi.stubGlobal("EventSource", FakeEventSource);
  FakeEventSource.opened = [];
});

afterEach(() => {
  closeOpened?.();
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

it("hands on named events and leaves out what is not JSON", () => {
  const { onEvent, onState } = open();
  latest().onopen?.();
  latest().say("job", '{"id":"1"}');
  latest().say("job", "not json");
  latest().say("other", "{}");
  expect(onState).toHaveBeenCalledWith("open");
  expect(onEvent.mock.calls).toEqual([[{ name: "job", data: { id: "1" } }]]);
});

it("tries again after each error, ever less often, and says that it is down", () => {
  const { onState } = open();
  for (let failure = 0; failure < 4; failure += 1) {
    latest().onerror?.();
    expect(onState).toHaveBeenLastCalledWith("down");
    vi.advanceTimersByTime(20_000);
  }
  expect(opened()).toHaveLength(5);
  expect(
    opened()
      .slice(0, 4)
      .every((source) => source.closed),
  ).toBe(true);

  vi.setSystemTime(0);
  latest().onerror?.();
  vi.advanceTimersByTime(11_000); // the fifth wait is 15 s ± 25 %
  expect(opened()).toHaveLength(5);
});

it("takes a silent connection for dead, while pings keep it", () => {
  const { onState, onContact } = open();
  latest().onopen?.();
  for (let ping = 0; ping < 10; ping += 1) {
    vi.advanceTimersByTime(15_000);
    latest().say("ping", "");
  }
  expect(opened()).toHaveLength(1);
  expect(onContact).toHaveBeenCalledTimes(11);
  vi.advanceTimersByTime(41_000);
  expect(onState).toHaveBeenLastCalledWith("down");
  vi.advanceTimersByTime(2000);
  expect(opened()).toHaveLength(2);
});

it("stays closed once closed", () => {
  const { close } = open();
  close();
  vi.advanceTimersByTime(100_000);
  expect(opened()).toHaveLength(1);
  expect(latest().closed).toBe(true);
});

it("has no stream while the page is hidden, and a new one as soon as it is shown", () => {
  const { onState, close } = open();
  latest().onopen?.();
  setHidden(true);
  expect(latest().closed).toBe(true);
  expect(onState).toHaveBeenLastCalledWith("paused");
  vi.advanceTimersByTime(600_000);
  window.dispatchEvent(new Event("online"));
  expect(opened()).toHaveLength(1);
  setHidden(false);
  expect(opened()).toHaveLength(2);
  latest().onopen?.();
  expect(onState).toHaveBeenLastCalledWith("open");
  close();
  setHidden(false);
  expect(opened()).toHaveLength(2);
});

it("reconnects at once after the machine slept, and when the network is back", () => {
  const { close } = open();
  latest().onopen?.();
  vi.advanceTimersByTime(6000);
  expect(opened()).toHaveLength(1);
  // Asleep: the clock goes on, timers don't.
  vi.setSystemTime(Date.now() + 3_600_000);
  vi.advanceTimersByTime(2000);
  expect(opened()).toHaveLength(2);
  expect(opened()[0]?.closed).toBe(true);
  latest().onerror?.();
  window.dispatchEvent(new Event("online"));
  expect(opened()).toHaveLength(3);
  close();
});
