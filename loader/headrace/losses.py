"""Per-source loss sums from per-sequence losses, without making a step wait for its device."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch

from headrace.batch import Batch
from headrace.errors import ConfigError

MAX_PENDING = 64
"micro-batches whose losses may still be on their way from a device"


@dataclass(frozen=True, slots=True)
class _Copy:
    """Losses on their way to the CPU."""

    step: int
    source: torch.Tensor
    losses: torch.Tensor
    arrived: torch.Event | None


class Losses:
    """Sums losses by source. Those of a device are copied asynchronously and summed once they have arrived."""

    def __init__(self, names: Sequence[str]) -> None:
        self._names = names
        self._pending: deque[_Copy] = deque(maxlen=MAX_PENDING)

    def add(self, batch: Batch, losses: torch.Tensor) -> Iterator[tuple[int, Mapping[str, tuple[float, int]]]]:
        """Take in a micro-batch's losses; yields (step, sum and count by source) of every one that has arrived.

        Losses that are not finite, and those of rows of padding, are left out of sum and count.

        Raises:
            ConfigError: `losses` is not of shape (micro_batch,).
        """
        if losses.shape != batch.source.shape:
            raise ConfigError(
                f"losses have shape {tuple(losses.shape)}; give one for each sequence, {tuple(batch.source.shape)}"
            )
        self._pending.append(_copy(batch, losses.detach()))
        return self._arrived()

    def _arrived(self) -> Iterator[tuple[int, Mapping[str, tuple[float, int]]]]:
        while self._pending and (self._pending[0].arrived is None or self._pending[0].arrived.query()):
            copy = self._pending.popleft()
            yield copy.step, self._sums(copy)

    def _sums(self, copy: _Copy) -> dict[str, tuple[float, int]]:
        values = copy.losses.to(torch.float64).numpy()
        sources = copy.source.numpy()
        counted = np.isfinite(values) & (sources >= 0)
        source = sources[counted]
        sums = np.bincount(source, weights=values[counted], minlength=len(self._names))
        counts = np.bincount(source, minlength=len(self._names))
        return {name: (float(sums[k]), int(counts[k])) for k, name in enumerate(self._names) if counts[k]}


def _copy(batch: Batch, losses: torch.Tensor) -> _Copy:
    devices = {tensor.device for tensor in (batch.source, losses) if tensor.device.type != "cpu"}
    source, host = _on_the_way(batch.source), _on_the_way(losses)
    if not devices:
        return _Copy(batch.step, source, host, None)
    arrived = torch.Event(device=devices.pop())
    arrived.record()
    return _Copy(batch.step, source, host, arrived)


def _on_the_way(tensor: torch.Tensor) -> torch.Tensor:
    """A tensor of the CPU that `tensor` is being copied to, without waiting; itself where it is there."""
    if tensor.device.type == "cpu":
        return tensor
    host = torch.empty(tensor.shape, dtype=tensor.dtype, pin_memory=tensor.device.type == "cuda")
    return host.copy_(tensor, non_blocking=True)
