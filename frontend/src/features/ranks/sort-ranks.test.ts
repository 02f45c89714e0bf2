import { expect, it } from "vitest";

import { rankState } from "@/testing/fixtures";

import { ranksSearch } from "./ranks-search";
import { arrangeRanks } from "./sort-ranks";

const ranks = [
  rankState({ rank: 0, wait_p99_ms: 9, tokens_per_s: 10, host: "node-2" }),
  rankState({ rank: 1, step_lag: 5, state: "late", tokens_per_s: 30, host: "node-10" }),
  rankState({ rank: 2, step_lag: 5, state: "lost", tokens_per_s: 20, host: "node-1" }),
  rankState({ rank: 3, wait_p99_ms: 90, tokens_per_s: 20, host: "node-1" }),
];
const order = (search: Parameters<typeof arrangeRanks>[1]) =>
  arrangeRanks(ranks, search).map(({ rank }) => rank);

it("puts the slowest first: lag, then state, then wait", () =>
  expect(order({})).toEqual([2, 1, 3, 0]));

it("sorts by a column, largest first, and turns round; equal ones by rank", () => {
  expect(order({ sort: "tokens_per_s" })).toEqual([1, 2, 3, 0]);
  expect(order({ sort: "tokens_per_s", up: true })).toEqual([0, 2, 3, 1]);
  expect(order({ sort: "host", up: true })).toEqual([2, 3, 0, 1]);
});

it("puts what is not known last, whichever way", () => {
  const some = [rankState({ rank: 0, mix_version: null }), rankState({ rank: 1, mix_version: 2 })];
  for (const up of [true, false]) {
    expect(arrangeRanks(some, { sort: "mix_version", up }).map(({ rank }) => rank)).toEqual([1, 0]);
  }
});

it("filters by every word", () => {
  expect(order({ q: "node-1 lost" })).toEqual([2]);
  expect(order({ q: "rank 3" })).toEqual([3]);
  expect(order({ q: "nothing" })).toEqual([]);
});

it("reads an address anyone may have typed", () => {
  expect(ranksSearch({ sort: "host", up: true, q: 7 })).toEqual({ sort: "host", up: true, q: "7" });
  expect(ranksSearch({ sort: "__proto__", up: "yes", q: { a: 1 } })).toEqual({});
});
