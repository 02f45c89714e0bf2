"""What the training loop was handed: the batch it means by what it got, and how much of it was not data."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from headrace.batch import Batch
from headrace.ends import NO_CAP, Ending
from headrace.errors import ConfigError
from headrace.plan import Position
from headrace.stream import Item

log = logging.getLogger("headrace")


@dataclass(frozen=True, slots=True)
class Remainder:
    """What the end of a run did not deliver as it is in the shards."""

    padded_tokens: int
    "places of padding in this rank's steps: in last sequences, between packed documents, in rows that fill a step"
    dropped_sequences: Mapping[str, int]
    "by source: sequences, over all ranks, that were still to come when the run ended; those with none are left out"


class Handed:
    """Counts what one rank handed to its training loop since it began or was resumed."""

    def __init__(self) -> None:
        self.masked_tokens = 0
        self._padded_tokens = 0
        self._last: Item | None = None
        self.remainder: Remainder | None = None

    def add(self, item: Item) -> None:
        """One more micro-batch."""
        self._last = item
        if item.finished is not None:
            self.masked_tokens += item.finished.masked_tokens
            self._padded_tokens += item.finished.padded_tokens

    def batch_of(self, given: object) -> Batch:
        """The batch that the training loop means by `given`.

        Raises:
            ConfigError: neither a batch, nor what was handed out last, nor None for that.
        """
        if isinstance(given, Batch):
            return given
        if self._last is not None and (given is None or given is self._last.given):
            return self._last.batch
        raise ConfigError(
            f"observe was given a {type(given).__name__}; give the Batch, what this loader yielded last, or None for "
            "that: a collate function may keep the Batch in what it returns"
        )

    def end(self, names: tuple[str, ...], position: Position, ending: Ending | None, seq_len: int) -> None:
        """The run is over at `position`: work out what it left over, and log it."""
        left = {}
        if ending is not None:
            rest = np.where(ending.caps < NO_CAP, ending.caps - position.counts, 0).tolist()
            left = {name: number for name, number in zip(names, rest, strict=True) if number > 0}
        self.remainder = Remainder(self._padded_tokens, left)
        log.info(
            "the run ended after %d steps: %d tokens of padding on this rank; %s",
            position.step,
            self._padded_tokens,
            f"left out: {left} sequences of up to {seq_len} tokens" if left else "nothing was left out",
        )
