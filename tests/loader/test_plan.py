"""A global batch is the same for every world size, each of its slots belongs to one rank, and planning is quick."""

from __future__ import annotations

import time
from itertools import pairwise

import numpy as np
import pytest
from headrace.errors import ConfigError
from headrace.mix import PPM, assign
from headrace.order import SourceOrder
from headrace.plan import (
    Position,
    batches_before,
    check_batch,
    micro_batches,
    plan_step,
    plan_steps,
    rank_slots,
    size_at,
    steps_within,
)
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.loader import strategies


def orders_of(num_sources: int, *, large: bool = False) -> list[SourceOrder]:
    rng = np.random.default_rng(num_sources)
    sizes = [rng.integers(1, 90, 200_000 if large and k % 2 else 40 + 7 * k) for k in range(num_sources)]
    return [
        SourceOrder(seed=4, name=f"s{k}", seq_len=16, lanes=64, block_tokens=blocks) for k, blocks in enumerate(sizes)
    ]


@settings(deadline=None, max_examples=60)
@given(st.integers(1, 8), st.integers(1, 96), st.data())
def test_a_plan_holds_the_next_sequences_of_each_source(k: int, size: int, data: st.DataObject) -> None:
    """Sources by the mix, ordinals without a gap, slots in the order of (lane, source, ordinal)."""
    orders = orders_of(k)
    position = Position.start(k)
    for step in range(4):
        weights = data.draw(strategies.weights_ppm(k))
        chosen = np.empty(size, np.int32)
        accumulators = position.accumulators.copy()
        assign(weights, accumulators, chosen)
        plan = plan_step(position, weights, size, orders)
        assert (plan.step, plan.after.step) == (step, step + 1)
        assert np.array_equal(np.sort(plan.sources), np.sort(chosen))
        assert np.array_equal(plan.after.accumulators, accumulators)
        for source in range(k):
            mine = np.sort(plan.ordinals[plan.sources == source])
            assert np.array_equal(mine, position.counts[source] + np.arange(len(mine)))
            assert plan.after.counts[source] == position.counts[source] + len(mine)
        keys = [
            (int(orders[s].lanes_of(np.array([n]))[0]), int(s), int(n))
            for s, n in zip(plan.sources, plan.ordinals, strict=True)
        ]
        assert keys == sorted(keys)
        position = plan.after


@pytest.mark.parametrize("size", [513, 5000])
def test_the_slots_of_a_large_step_are_sorted_as_those_of_a_small_one(size: int) -> None:
    orders, weights = orders_of(3, large=True), np.array([600_000, 300_000, 100_000])
    plan = plan_step(Position.start(3), weights, size, orders)
    lanes = [int(orders[s].lanes_of(np.array([n]))[0]) for s, n in zip(plan.sources, plan.ordinals, strict=True)]
    slots = list(zip(lanes, plan.sources.tolist(), plan.ordinals.tolist(), strict=True))
    assert slots == sorted(slots)
    assert len(set(slots)) == size


def test_a_plan_never_changes_the_position_it_starts_from() -> None:
    orders = orders_of(3)
    start = Position.start(3)
    weights = np.array([500_000, 300_000, 200_000])
    first = plan_step(start, weights, 10, orders)
    second = plan_step(start, weights, 10, orders)
    assert start.counts.tolist() == start.accumulators.tolist() == [0, 0, 0]
    assert np.array_equal(first.ordinals, second.ordinals)
    assert np.array_equal(first.sources, second.sources)


@settings(deadline=None, max_examples=60)
@given(st.integers(1, 6), st.lists(st.integers(1, 40), min_size=1, max_size=8), st.booleans(), st.data())
def test_steps_planned_together_are_those_planned_one_by_one(
    k: int, sizes: list[int], is_finite: bool, data: st.DataObject
) -> None:
    orders = orders_of(k)
    asked = [(data.draw(strategies.weights_ppm(k)), size) for size in sizes]
    caps = np.array([7 * (n + 1) for n in range(k)]) if is_finite else None
    together = plan_steps(Position.start(k), asked, orders, caps)
    position = Position.start(k)
    for (weights, size), plan in zip(asked, together, strict=True):
        alone = plan_step(position, weights, size, orders, caps)
        assert (plan.step, plan.after.step) == (alone.step, alone.after.step)
        for name in ("sources", "ordinals", "weights"):
            assert np.array_equal(getattr(plan, name), getattr(alone, name))
        assert np.array_equal(plan.after.counts, alone.after.counts)
        assert np.array_equal(plan.after.accumulators, alone.after.accumulators)
        position = alone.after


@settings(deadline=None, max_examples=60)
@given(st.integers(1, 60), st.lists(st.integers(1, 40), min_size=1, max_size=8))
def test_the_order_is_one_list_however_it_is_cut_into_batches(last: int, sizes: list[int]) -> None:
    """S02, S04: at batches of any sizes the same sequences come in the same stretch."""
    orders = orders_of(3)
    weights = np.array([500_000, 300_000, 200_000])
    whole = plan_step(Position.start(3), weights, sum(sizes) + last, orders)
    position, found = Position.start(3), []
    for size in (*sizes, last):
        plan = plan_step(position, weights, size, orders)
        found += list(zip(plan.sources.tolist(), plan.ordinals.tolist(), strict=True))
        position = plan.after
    assert sorted(found) == sorted(zip(whole.sources.tolist(), whole.ordinals.tolist(), strict=True))
    assert np.array_equal(position.counts, whole.after.counts)
    assert np.array_equal(position.accumulators, whole.after.accumulators)


@settings(deadline=None)
@given(st.integers(1, 64), st.integers(1, 64))
def test_every_slot_belongs_to_exactly_one_rank(share: int, world_size: int) -> None:
    """M07: parts are disjoint, of one size, and together the whole batch."""
    size = share * world_size
    slots = [rank_slots(size, rank, world_size) for rank in range(world_size)]
    assert slots[0].start == 0
    assert slots[-1].stop == size
    assert all(left.stop == right.start for left, right in pairwise(slots))
    assert {part.stop - part.start for part in slots} == {share}


@settings(deadline=None)
@given(st.integers(1, 400), st.integers(1, 40), st.integers(1, 40))
def test_parts_of_a_batch_that_does_not_divide(size: int, micro: int, world_size: int) -> None:
    """They differ by one at most and fit into as few micro-batches as hold the largest, the same number everywhere."""
    slots = [rank_slots(size, rank, world_size) for rank in range(world_size)]
    assert [n for part in slots for n in range(part.start, part.stop)] == list(range(size))
    lengths = [part.stop - part.start for part in slots]
    assert max(lengths) - min(lengths) <= 1
    number = micro_batches(size, micro, world_size)
    assert (number - 1) * micro < max(lengths) <= number * micro


@settings(deadline=None)
@given(st.integers(1, 300), st.integers(1, 40), st.integers(1, 40))
def test_a_batch_is_refused_just_when_it_does_not_divide(size: int, micro: int, world_size: int) -> None:
    if size % (micro * world_size) == 0:
        check_batch(size, micro, world_size)
        return
    with pytest.raises(ConfigError) as refused:
        check_batch(size, micro, world_size)
    message = str(refused.value)
    assert message.startswith(f"global_batch_size is {size}, which {world_size} data ranks × micro_batch_size {micro}")
    nearest = message.partition("the nearest that fit are ")[2].partition(";")[0]
    for fitting in nearest.split(" or "):
        check_batch(int(fitting), micro, world_size)
        assert abs(int(fitting) - size) < micro * world_size
    for fitting in message.partition("world sizes ")[2].partition(" fit")[0].split(", "):
        if fitting:
            check_batch(size, micro, int(fitting))


def test_the_nearest_batches_and_world_sizes_are_named() -> None:
    with pytest.raises(ConfigError) as refused:
        check_batch(512, 8, 48)
    assert str(refused.value) == (
        "global_batch_size is 512, which 48 data ranks × micro_batch_size 8 = 384 does not divide; the nearest that "
        "fit are 384 or 768; with 512, world sizes 16, 32, 64 fit; or set uneven='pad' to fill up with rows of padding"
    )


def test_a_huge_batch_is_refused_at_once() -> None:
    began = time.perf_counter()
    with pytest.raises(ConfigError, match="16777216"):
        check_batch(1 << 24, 1, 3)
    assert time.perf_counter() - began < 0.5


def test_planning_is_quick(capsys: pytest.CaptureFixture[str]) -> None:
    """Every rank plans every step: a global batch of 4,096 from 50 sources."""
    orders = orders_of(50, large=True)
    weights = np.full(50, PPM // 50)
    position = plan_step(Position.start(50), weights, 4096, orders).after
    took = []
    for _ in range(20):
        began = time.perf_counter()
        position = plan_step(position, weights, 4096, orders).after
        took.append(time.perf_counter() - began)
    with capsys.disabled():
        print(f"\nplan: {1000 * min(took):.2f} ms a step at G = 4,096, K = 50", end="")
    assert min(took) < 0.05


@given(
    st.lists(st.tuples(st.integers(1, 50), st.integers(1, 40)), max_size=4),
    st.integers(1, 40),
    st.integers(0, 400),
)
def test_a_schedule_counts_sequences_both_ways(later: list[tuple[int, int]], first: int, step: int) -> None:
    sizes, at = [(0, first)], 0
    for gap, size in later:
        at += gap
        sizes.append((at, size))
    schedule = tuple(sizes)
    by_hand = sum(size_at(schedule, n) for n in range(step))
    assert batches_before(schedule, step, 1, 1) == by_hand
    assert batches_before(schedule, step, 3, 2) == sum(micro_batches(size_at(schedule, n), 3, 2) for n in range(step))
    assert steps_within(schedule, by_hand) == step
    assert steps_within(schedule, by_hand + size_at(schedule, step) - 1) == step
