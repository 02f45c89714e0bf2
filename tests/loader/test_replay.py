"""Counts at any step without planning the steps between: equal to planning them, and as quick for ten million."""

from __future__ import annotations

import time

import numpy as np
from headrace.ends import NO_CAP
from headrace.mix import Revision, assign, weights_at
from headrace.plan import Position
from headrace.replay import advance
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.loader.strategies import weights_ppm


@st.composite
def logs(draw: st.DrawFn) -> tuple[list[Revision], list[str], int]:
    num_sources = draw(st.integers(1, 5))
    names = [f"s{k}" for k in range(num_sources)]
    log, at = [], 0
    for number in range(draw(st.integers(1, 4))):
        coarse = draw(st.booleans())
        weights = draw(weights_ppm(num_sources))
        if coarse:
            weights = weights // 100_000 * 100_000
            weights[int(np.argmax(weights))] += 1_000_000 - weights.sum()
        by_name = dict(zip(names, weights.tolist(), strict=True))
        log.append(Revision(f"service:{number + 1}", at, by_name, draw(st.sampled_from((0, 0, 5)))))
        at += draw(st.integers(0, 300))
    return log, names, at + draw(st.integers(0, 3000))


@settings(max_examples=60, deadline=None)
@given(logs(), st.integers(1, 40))
def test_replaying_equals_planning_every_step(drawn: tuple[list[Revision], list[str], int], size: int) -> None:
    log, names, last = drawn
    counts, accumulators = np.zeros(len(names), np.int64), np.zeros(len(names), np.int64)
    for step in range(last):
        by_name = weights_at(log, step, names)
        chosen = np.empty(size, np.int32)
        assign(np.array([by_name[name] for name in names], np.int64), accumulators, chosen)
        counts += np.bincount(chosen, minlength=len(names))
    reached = advance(Position.start(len(names)), log, names, ((0, size),), last)
    assert (reached.step, reached.counts.tolist(), reached.accumulators.tolist()) == (
        last,
        counts.tolist(),
        accumulators.tolist(),
    )


def test_ten_million_steps_cost_what_ten_thousand_do() -> None:
    """A figure, not a bound: steps replayed a second, at weights whose cycle is the longest there is."""
    names = ["a", "b", "c"]
    log = [Revision("config:1", 0, {"a": 600_001, "b": 299_998, "c": 100_001})]
    start = Position.start(3)
    advance(start, log, names, ((0, 512),), 10_000)
    began = time.perf_counter()
    reached = advance(start, log, names, ((0, 512),), 10_000_000)
    print(f"{10_000_000 / (time.perf_counter() - began):,.0f} steps a second")
    assert reached.counts.sum() == 512 * 10_000_000
    assert abs(reached.accumulators).max() < 1_000_000


def test_a_source_without_a_cap_beside_one_with_a_cap_costs_no_more() -> None:
    """The steps before, and all after the capped source is used up, are skipped too, however many."""
    names, caps = ["a", "b"], np.array([NO_CAP, 7_000_000], np.int64)
    log = [Revision("config:1", 0, {"a": 700_001, "b": 299_999})]
    start = Position.start(2)
    began = time.perf_counter()
    reached = advance(start, log, names, ((0, 64),), 10**9, caps)
    assert time.perf_counter() - began < 30
    assert reached.counts.tolist() == [64 * 10**9 - 7_000_000, 7_000_000]
    assert reached.accumulators.sum() == 0


def test_a_count_of_steps_does_not_say_where_a_run_stands() -> None:
    """Why a checkpoint is more than a count: as far, under the same weights now, and yet elsewhere in each source."""
    names, start = ["web", "code"], Position.start(2)
    even, uneven = {"web": 500_000, "code": 500_000}, {"web": 900_000, "code": 100_000}
    steady = [Revision("config:1", 0, even)]
    turned = [*steady, Revision("service:1", 10, uneven), Revision("service:2", 20, even)]
    one, other = (advance(start, log, names, ((0, 10),), 100) for log in (steady, turned))
    assert one.counts.sum() == other.counts.sum() == 1000
    assert one.counts.tolist() == [500, 500]
    assert other.counts.tolist() == [540, 460]
