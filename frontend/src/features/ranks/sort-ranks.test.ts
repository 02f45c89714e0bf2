import { expect, it } from "vitest";

import type { RankState } from "@/api/types";
import { rankState } from "@/testing/fixtures";

import { ranksSearch, type RanksSearch } from "./ranks-search";
import { filterRanks, sortRanks } from "./sort-ranks";

const RANKS = [
  rankState({ rank: 0, host: "node-2", mix_version: null, wait_p99_ms: 3 }),
  rankState({ rank: 1, host: "node-10", step_lag: 4, wait_p99_ms: 1 }),
  rankState({ rank: 2, host: "node-1", state: "lost", step_lag: 4, wait_p99_ms: 2 }),
  rankState({ rank: 3, host: "node-1", wait_p99_ms: 3 }),
];

const numbers = (ranks: readonly RankState[]) => ranks.map(({ rank }) => rank);
const sorted = (search: RanksSearch) => numbers(sortRanks(RANKS, search));
const left = (search: RanksSearch) => numbers(filterRanks(RANKS, search));

it("puts the slowest first: furthest behind, then the worst state, then the longest wait", () => {
  expect(sorted({})).toEqual([2, 1, 0, 3]);
});

it("sorts by a column both ways, with what is not known last", () => {
  expect(sorted({ sort: "wait_p99_ms" })).toEqual([0, 3, 2, 1]);
  expect(sorted({ sort: "wait_p99_ms", up: true })).toEqual([1, 2, 0, 3]);
  expect(sorted({ sort: "mix_version" }).at(-1)).toBe(0);
  expect(sorted({ sort: "mix_version", up: true }).at(-1)).toBe(0);
});

it("sorts hosts as people count them", () => {
  expect(sorted({ sort: "host", up: true })).toEqual([2, 3, 0, 1]);
});

it("filters by every word of the text, by state, and by host: a whole name before a part of one", () => {
  expect(left({ q: "NODE-1 lost" })).toEqual([2]);
  expect(left({ q: "rank 1" })).toEqual([1]);
  expect(left({ q: "3" })).toEqual([3]);
  expect(left({ state: "live" })).toEqual([0, 1, 3]);
  expect(left({ host: "node-1" })).toEqual([2, 3]);
  expect(left({ host: "ode-1" })).toEqual([1, 2, 3]);
  expect(left({ host: "node-1", state: "lost", q: "2" })).toEqual([2]);
});

it("leaves the ranks it was given as they are", () => {
  sortRanks(RANKS, { sort: "wait_p99_ms" });
  expect(numbers(RANKS)).toEqual([0, 1, 2, 3]);
});

it("reads a view from an address anyone may have typed", () => {
  expect(ranksSearch({ sort: "nonsense", up: "yes", state: "asleep", metric: 3 })).toEqual({});
  expect(
    ranksSearch({ sort: "host", up: true, q: 12, state: "lost", host: "a", metric: "step_lag" }),
  ).toEqual({ sort: "host", up: true, q: "12", state: "lost", host: "a", metric: "step_lag" });
  expect(ranksSearch({ sort: "slowest", metric: "state" })).toEqual({});
});
