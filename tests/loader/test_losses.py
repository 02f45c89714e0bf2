"""Losses are summed by source, exactly, and whatever is not a loss is left out."""

from __future__ import annotations

import math
from collections.abc import Mapping

import pytest
import torch
from headrace.batch import Batch
from headrace.errors import ConfigError
from headrace.losses import Losses
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
        Losses(NAMES).add(of_sources([0, 1]), torch.zeros(shape))
    assert str(refused.value) == f"losses have shape {shape}; give one for each sequence, (2,)"
