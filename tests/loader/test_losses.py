"""Losses are summed by source, exactly, and whatever is not a loss is left out."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from typing import cast

import pytest
import torch
from headrace.batch import Batch
from headrace.errors import ConfigError
from headrace.losses import MAX_PENDING, Losses, _Copy, check_losses
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.loader.test_batch import batch

NAMES = ("web", "code", "books")

Sums = tuple[int, Mapping[str, tuple[float, int]]]


def of_sources(sources: list[int], step: int = 0) -> Batch:
    return batch(source=torch.tensor(sources), step=step)


def add(losses: Losses, sources: list[int], values: torch.Tensor, step: int = 0) -> list[Sums]:
    return list(losses.add(of_sources(sources, step), values))


@settings(deadline=None)
@given(st.lists(st.tuples(st.integers(0, 2), st.floats(-100, 100, width=32)), min_size=1, max_size=30))
def test_sums_and_counts_by_source(drawn: list[tuple[int, float]]) -> None:
    sources, values = zip(*drawn, strict=True)
    ((step, sums),) = add(Losses(NAMES), list(sources), torch.tensor(values, dtype=torch.float32), 9)
    assert step == 9
    assert list(sums) == [name for k, name in enumerate(NAMES) if k in sources]
    for k, name in enumerate(NAMES):
        mine = [value for source, value in drawn if source == k]
        if mine:
            total, count = sums[name]
            assert count == len(mine)
            assert total == pytest.approx(math.fsum(mine), abs=1e-9)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16, torch.float16])
def test_every_kind_of_float_with_and_without_gradients(dtype: torch.dtype) -> None:
    values = torch.tensor([0.5, 1.5, 2.0], dtype=dtype, requires_grad=True)
    ((_, sums),) = add(Losses(NAMES), [0, 0, 2], values)
    assert sums == {"web": (2.0, 2), "books": (2.0, 1)}
    assert values.grad is None


def test_what_is_not_finite_is_left_out() -> None:
    values = torch.tensor([1.0, math.nan, math.inf, -math.inf])
    assert add(Losses(NAMES), [0, 0, 1, 2], values) == [(0, {"web": (1.0, 1)})]
    assert add(Losses(NAMES), [1], torch.tensor([math.nan])) == [(0, {})]


def test_rows_of_padding_are_left_out() -> None:
    assert add(Losses(NAMES), [0, -1], torch.tensor([1.0, 7.0])) == [(0, {"web": (1.0, 1)})]


@pytest.mark.parametrize("shape", [(), (3,), (2, 1), (0,)])
def test_another_shape_is_refused_at_once(shape: tuple[int, ...]) -> None:
    with pytest.raises(ConfigError) as refused:
        check_losses(of_sources([0, 1]), torch.zeros(shape))
    assert str(refused.value) == f"losses have shape {shape}; give one for each sequence, (2,)"


class Arrival:
    """What torch.Event says of a copy from a device: that it has arrived, from the nth time on that it is asked."""

    def __init__(self, asks: int) -> None:
        self.asks = asks

    def query(self) -> bool:
        self.asks -= 1
        return self.asks < 0


def on_the_way(losses: Losses, step: int, asks: int, value: float) -> None:
    """A micro-batch whose losses come from a device."""
    copy = _Copy(step, torch.tensor([0]), torch.tensor([value]), cast("torch.Event", Arrival(asks)))
    losses._pending.append(copy)


def test_what_has_not_arrived_is_summed_later_and_in_order() -> None:
    losses = Losses(NAMES)
    on_the_way(losses, 1, asks=2, value=1.0)
    assert add(losses, [0], torch.tensor([5.0]), step=2) == []
    assert add(losses, [1], torch.tensor([7.0]), step=3) == []
    got = add(losses, [2], torch.tensor([9.0]), step=4)
    assert got == [(1, {"web": (1.0, 1)}), (2, {"web": (5.0, 1)}), (3, {"code": (7.0, 1)}), (4, {"books": (9.0, 1)})]


def test_the_end_of_a_run_waits_for_the_last_losses_but_not_for_ever() -> None:
    losses = Losses(NAMES)
    on_the_way(losses, 1, asks=3, value=2.0)
    assert list(losses.rest(wait_s=60)) == [(1, {"web": (2.0, 1)})]
    on_the_way(losses, 2, asks=10**9, value=2.0)
    began = time.monotonic()
    assert list(losses.rest(wait_s=0.05)) == []
    assert time.monotonic() - began < 30
    assert list(losses.rest(wait_s=60)) == []


def test_no_more_than_a_few_micro_batches_wait_for_a_device() -> None:
    losses = Losses(NAMES)
    for step in range(3 * MAX_PENDING):
        on_the_way(losses, step, asks=1, value=1.0)
    assert [step for step, _ in losses.rest(wait_s=60)] == list(range(2 * MAX_PENDING, 3 * MAX_PENDING))
