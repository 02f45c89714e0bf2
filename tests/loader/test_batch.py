"""A batch can be moved, and can't be changed."""

from __future__ import annotations

from dataclasses import FrozenInstanceError, fields
from typing import Any

import pytest
import torch
from headrace.batch import Batch


def batch(**others: Any) -> Batch:
    values: dict[str, Any] = {
        "input_ids": torch.arange(8).reshape(2, 4),
        "labels": torch.arange(8).reshape(2, 4) + 1,
        "position_ids": None,
        "cu_seqlens": torch.tensor([0, 4, 8], dtype=torch.int32),
        "max_seqlen": 4,
        "source": torch.tensor([0, 1]),
        "step": 3,
        "micro_step": 1,
        "last_of_step": True,
        "num_trained_tokens": 8,
    }
    return Batch(**(values | others))


def test_moving_takes_every_tensor_along_and_nothing_else() -> None:
    """The `meta` device is as far from the CPU as a GPU."""
    ours = batch()
    moved = ours.to("meta", non_blocking=True)
    for field in fields(Batch):
        before, after = getattr(ours, field.name), getattr(moved, field.name)
        if isinstance(before, torch.Tensor):
            assert after.device.type == "meta"
            assert after.shape == before.shape
            assert before.device.type == "cpu"
        else:
            assert after == before
    assert moved.position_ids is None
    assert torch.equal(ours.to(torch.device("cpu")).input_ids, ours.input_ids)


def test_it_is_frozen() -> None:
    with pytest.raises(FrozenInstanceError):
        batch().step = 4  # type: ignore[misc]
    with pytest.raises(TypeError):
        Batch(torch.zeros(1))  # type: ignore[call-arg]
