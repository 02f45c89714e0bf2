import { expect, it } from "vitest";

import { liveState, liveText } from "./live-state";

const NOW = 1_000_000;
const connection = { stream: "open", answering: true, lastContactMs: NOW } as const;

it("is live while events arrive", () => expect(liveState(connection, NOW)).toBe("live"));

it("polls while only answers arrive", () => {
  expect(liveState({ ...connection, stream: "down" }, NOW)).toBe("polling");
});

it("is cut off without answers, or after silence", () => {
  expect(liveState({ ...connection, stream: "down", answering: false }, NOW)).toBe("cut-off");
  expect(liveState({ ...connection, stream: "down" }, NOW + 30_000)).toBe("cut-off");
});

it("is cut off when an open stream has missed its ping", () => {
  expect(liveState(connection, NOW + 19_000)).toBe("live");
  expect(liveState(connection, NOW + 21_000)).toBe("cut-off");
});

it("says how old the page is", () => {
  expect(liveText("cut-off", NOW, NOW + 40_000)).toBe("Not live: last update 40 s ago, retrying");
  expect(liveText("polling", NOW, NOW + 3000)).toBe("Not live: polling, last update 3 s ago");
});
