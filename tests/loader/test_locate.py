"""The order backwards: every place of the stream leads to the ordinal, and the step, that delivers it."""

from __future__ import annotations

import time

import numpy as np
import pytest
from headrace.locate import MAX_SEQUENCES, ordinal_of, sequences_with, step_of
from headrace.mix import Revision
from headrace.order import SourceOrder
from headrace.plan import Position
from headrace.replay import advance
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.loader import strategies
from tests.loader.strategies import Shape


def make(shape: Shape, seed: int, *, shuffle: bool = True) -> SourceOrder:
    tokens = np.array(shape.block_tokens, np.int64)
    return SourceOrder(
        seed=seed, name="web", seq_len=shape.seq_len, lanes=shape.lanes, block_tokens=tokens, shuffle=shuffle
    )


def check_inverse(order: SourceOrder, ordinals: list[int]) -> None:
    """Forward and back again is where it began."""
    epochs, inside = order.sequences_of(np.array(ordinals, np.int64))
    firsts = -(-epochs * order.total_tokens // order.seq_len)
    assert [ordinal_of(order, int(sequence)) for sequence in firsts + inside] == ordinals


@settings(deadline=None, max_examples=40)
@given(st.one_of(strategies.small_shapes(), strategies.large_shapes()), strategies.seeds, st.booleans(), st.data())
def test_the_inverse_of_the_order(shape: Shape, seed: int, shuffle: bool, data: st.DataObject) -> None:
    """Of any sequence of any epoch, at any size: short of a sequence, one permutation, and dealt over lanes."""
    number = -(-3 * shape.total_tokens // shape.seq_len)
    picked = data.draw(st.lists(st.integers(0, number - 1), min_size=1, max_size=20))
    check_inverse(make(shape, seed, shuffle=shuffle), picked)


def test_the_inverse_at_the_ends_of_an_epoch_and_of_its_lanes() -> None:
    order = make(Shape([97] * 900, 7, 64), 5)
    assert order.num_lanes > 1
    size = 900 * 97 // 7
    edges = [0, 1, order.num_lanes - 1, order.num_lanes, size - order.num_lanes, size - 1, size, size + 1, 2 * size]
    check_inverse(order, edges)


def test_windows_above_the_table_limit_go_back_through_the_feistel_network() -> None:
    """10^14 tokens in blocks of a gigabyte: one ordinal takes no more than a moment, and no memory."""
    order = make(Shape([400_000_000] * 250_000, 4096, 512), 3)
    assert order.window >= 1 << 16
    ordinals = [0, 1, 511, 512, 10**9, 24 * 10**9, 3 * 10**10]
    began = time.perf_counter()
    check_inverse(order, ordinals)
    assert time.perf_counter() - began < 20


def test_sequences_with_a_stretch_of_tokens() -> None:
    order = make(Shape([100], 10, 1), 0)
    assert list(sequences_with(order, 0, 10)) == [0]
    assert list(sequences_with(order, 9, 2)) == [0, 1]
    assert list(sequences_with(order, 99, 1)) == [9]
    assert list(sequences_with(order, 195, 20)) == [19, 20, 21]


@settings(deadline=None, max_examples=60)
@given(st.lists(st.integers(0, 3), min_size=1, max_size=40), st.integers(0, 60), st.integers(0, 45))
def test_the_step_of_an_ordinal(taken: list[int], ordinal: int, first_step: int) -> None:
    """Equal to walking the steps one by one, also past the last one and where nothing is taken."""
    before = np.concatenate(([0], np.cumsum(taken))).tolist()
    last_step = len(taken) - 1

    def count_before(step: int) -> int:
        assert step <= len(taken)  # it never asks beyond
        return int(before[step])

    walked = [s for s in range(first_step, len(taken)) if before[s] <= ordinal < before[s + 1]]
    assert step_of(count_before, ordinal, first_step, last_step) == (walked[0] if walked else None)


def test_a_step_far_away_is_found_at_once() -> None:
    """P8: by halving over counts, with billions of steps between; a paused source is not looked for for ever."""
    names = ("web", "code", "math")
    log = [
        Revision("config:1", 0, {"web": 600_000, "code": 399_999, "math": 1}),
        Revision("local:x:1", 1000, {"web": 1_000_000, "code": 0, "math": 0}, ramp_steps=50),
    ]
    start, size = Position.start(3), 512
    asked = 0

    def counts(source: int, step: int) -> int:
        nonlocal asked
        asked += 1
        return int(advance(start, log, names, ((0, size),), step).counts[source])

    last_step = MAX_SEQUENCES // size
    began = time.perf_counter()
    far = step_of(lambda step: counts(0, step), 10**12, 0, last_step)
    assert far is not None
    assert counts(0, far) <= 10**12 < counts(0, far + 1)
    assert step_of(lambda step: counts(1, step), 10**9, 0, last_step) is None
    assert asked < 150
    assert time.perf_counter() - began < 60


@pytest.mark.parametrize(("ordinal", "first_step"), [(3, 1), (0, 2), (5, 9)])
def test_an_ordinal_of_an_earlier_step_is_in_none(ordinal: int, first_step: int) -> None:
    assert step_of(lambda step: 4 * step if first_step < 9 else 8, ordinal, first_step, 10**6) is None
