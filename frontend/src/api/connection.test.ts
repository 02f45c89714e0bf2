import { expect, it, vi } from "vitest";

import { ConnectionStore } from "./connection";

it("tells its listeners of changes, and of contacts no more often than they matter", () => {
  const store = new ConnectionStore();
  const heard = vi.fn();
  const stop = store.subscribe(heard);
  store.setStream("open");
  store.setStream("open");
  store.contact(10_000);
  store.contact(10_100);
  store.contact(10_600);
  expect(heard).toHaveBeenCalledTimes(3);
  expect(store.get()).toEqual({ stream: "open", answering: true, lastContactMs: 10_600 });
  stop();
  store.setStream("down");
  expect(heard).toHaveBeenCalledTimes(3);
});

it("is answering again with the first answer, however soon", () => {
  const store = new ConnectionStore();
  store.contact(10_000);
  store.unreachable();
  expect(store.get().answering).toBe(false);
  store.contact(10_001);
  expect(store.get().answering).toBe(true);
});
