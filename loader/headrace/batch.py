"""What the training loop gets."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any

import torch


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """One micro-batch of one rank. Tensors are on the CPU until `to` moves them; nothing else ever writes to them."""

    input_ids: torch.Tensor
    "(micro_batch, seq_len), `token_dtype`"
    labels: torch.Tensor | None
    "(micro_batch, seq_len), int64 (int32 with a narrow `token_dtype`): the next token; −100 where there is none"
    position_ids: torch.Tensor | None
    "int64 (micro_batch, seq_len): 0 at the sequence's start and at each document's"
    cu_seqlens: torch.Tensor | None
    "int32 (segments + 1,): bounds of the documents' stretches in the flattened micro-batch"
    max_seqlen: int | None
    "the longest of those stretches"
    source: torch.Tensor
    "int64 (micro_batch,): index into `Loader.source_names`; −1 for a row of padding, at the end of a run"
    step: int
    "number of the optimiser step, from 0"
    micro_step: int
    "number of this micro-batch in its step, from 0"
    last_of_step: bool
    "whether the optimiser steps after this one"
    num_trained_tokens: int
    "positions whose label counts"

    def to(self, device: torch.device | str, *, non_blocking: bool = False) -> Batch:
        """A copy with every tensor on `device`."""
        return self._each(lambda tensor: tensor.to(device, non_blocking=non_blocking))

    def pin_memory(self) -> Batch:
        """A copy with every tensor in page-locked memory, for asynchronous copies to a GPU."""
        return self._each(lambda tensor: tensor.pin_memory())

    def _each(self, change: Callable[[torch.Tensor], torch.Tensor]) -> Batch:
        values: dict[str, Any] = {field.name: getattr(self, field.name) for field in fields(self)}
        for name, value in values.items():
            if isinstance(value, torch.Tensor):
                values[name] = change(value)
        return Batch(**values)
