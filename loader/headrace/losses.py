"""Per-source loss sums from per-sequence losses, without making a step wait for its device."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite

import torch

from headrace.batch import Batch
from headrace.errors import ConfigError

MAX_PENDING = 64
"micro-batches whose losses may still be on their way from a device"

LAST_LOSSES_S = 0.5
"how long a run that ends waits for the last of them"

_LOOK_S = 0.001
"how often `rest` looks whether losses have arrived"


@dataclass(frozen=True, slots=True)
class _Copy:
    """Losses on their way to the CPU."""

    step: int
    source: torch.Tensor
    losses: torch.Tensor
    arrived: torch.Event | None


Sums = tuple[int, Mapping[str, tuple[float, int]]]
"a step, and by source the sum and the number of its losses"


class Losses:
    """Sums losses by source. Those of a device are copied asynchronously and summed once they have arrived.

    Python lists throughout: each call of torch or numpy hands over the interpreter, which the threads that prepare the
    next batches may then hold for longer than all of the sums take.
    """

    def __init__(self, names: Sequence[str]) -> None:
        self._names = names
        self._pending: deque[_Copy] = deque(maxlen=MAX_PENDING)

    def add(self, batch: Batch, losses: torch.Tensor) -> Iterator[Sums]:
        """Take in a micro-batch's losses; yields (step, sum and count by source) of every one that has arrived.

        Losses that are not finite, and those of rows of padding, are left out of sum and count.
        """
        self._pending.append(_copy(batch, losses))
        return self._arrived()

    def rest(self, wait_s: float) -> Iterator[Sums]:
        """What is still on its way, waiting for it for `wait_s` seconds at most; later ones are given up."""
        deadline = time.monotonic() + wait_s
        while self._pending:
            yield from self._arrived()
            if self._pending and time.monotonic() > deadline:
                self._pending.clear()
            elif self._pending:
                time.sleep(_LOOK_S)

    def _arrived(self) -> Iterator[Sums]:
        while self._pending and (self._pending[0].arrived is None or self._pending[0].arrived.query()):
            copy = self._pending.popleft()
            yield copy.step, self._sums(copy)

    def _sums(self, copy: _Copy) -> dict[str, tuple[float, int]]:
        sums, counts = [0.0] * len(self._names), [0] * len(self._names)
        for source, loss in zip(copy.source.tolist(), copy.losses.tolist(), strict=True):
            if source >= 0 and isfinite(loss):
                sums[source] += loss
                counts[source] += 1
        return {name: (sums[k], counts[k]) for k, name in enumerate(self._names) if counts[k]}


def check_losses(batch: Batch, losses: torch.Tensor) -> None:
    """Raise ConfigError unless there is one loss for each sequence of the batch."""
    if losses.shape != batch.source.shape:
        raise ConfigError(
            f"losses have shape {tuple(losses.shape)}; give one for each sequence, {tuple(batch.source.shape)}"
        )


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
    return host.copy_(tensor.detach(), non_blocking=True)
