"""The legs of a source: runs of its ordinals, each read under one geometry.

Nearly always there is one, from the first ordinal on. A run that goes on with other data or another `seq_len` gets
more, so that what was delivered stays what it was, and what is left of the epoch is delivered once:

- `whole`: epoch after epoch of some shards;
- `on`: what is left of the epoch of the leg before, in the same order, with new holes in it or others to follow;
- `rest`: what is left of that epoch, cut at another `seq_len`;
- `once`: one epoch of shards that were appended, after which a `whole` leg covers all.

A record says which; everything else follows from it, the manifests and the records before it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from headrace.best_fit import Windows, find_windows
from headrace.config import LoaderConfig
from headrace.ends import NO_CAP, cap_of, end_of
from headrace.manifest import SourceManifest
from headrace.order import SourceOrder
from headrace.recut import cut_rest
from headrace.rest import Key, Order
from headrace.selection import Ranges

Ints = npt.NDArray[np.int64]
Kind = Literal["whole", "on", "rest", "once"]


@dataclass(frozen=True, slots=True)
class LegRecord:
    """What a checkpoint says of a leg."""

    kind: Kind
    seq_len: int
    shards: Ranges
    "of the source's listing"
    left_out: tuple[str, ...] = ()
    "digests of the exclusions that are not in its counts"
    holes: tuple[str, ...] = ()
    "digests of those that keep their places in it"
    stop: int | None = None
    "ordinals that it gave, where a later leg took over"


class Stretch(NamedTuple):
    """The order of a leg, and how much of it the leg may give."""

    make_order: Callable[[], Order]
    num_sequences: int
    "ordinals from the leg's first on, or `NO_CAP`"
    skip: int
    "ordinals of the order that lie before the leg"
    windows: Windows | None
    "best-fit windows of the manifest's blocks"
    epochs_before: int
    "passes over the source before epoch 0 of the order"


@dataclass(frozen=True, slots=True)
class Leg:
    """A record with what follows from it."""

    source: int
    record: LegRecord
    manifest: SourceManifest
    first_ordinal: int
    stretch: Stretch

    @property
    def num_sequences(self) -> int:
        """Ordinals that it gives, or `NO_CAP`."""
        natural = self.stretch.num_sequences
        return natural if self.record.stop is None else min(natural, self.record.stop)

    @property
    def end_ordinal(self) -> int:
        """The source's first ordinal after it."""
        return min(self.first_ordinal + self.num_sequences, NO_CAP)

    @property
    def left_at(self) -> int:
        """The ordinal of its order at which it ends."""
        return self.stretch.skip + self.num_sequences


def lay_out(
    config: LoaderConfig, source: int, records: Sequence[LegRecord], view: Callable[[LegRecord], SourceManifest]
) -> tuple[Leg, ...]:
    """The legs of source number `source`; `view` gives the manifest that a record is about."""
    epochs = config.epochs or config.sources[source].max_epochs
    legs: list[Leg] = []
    passes = 0
    for number, record in enumerate(records):
        before = legs[-1] if legs else None
        make = _Maker(config, config.names[source], number, record, view(record), epochs)
        if record.kind in ("whole", "once"):
            stretch = make.fresh(passes)
        else:
            assert before is not None, "a record of what is left needs the leg that it is left of"
            stretch = make.on(before) if record.kind == "on" else make.rest(before)
        legs.append(Leg(source, record, make.manifest, 0 if before is None else before.end_ordinal, stretch))
        passes = _passes_after(legs[-1]) if record.stop is not None or record.kind != "whole" else passes
    return tuple(legs)


def _passes_after(leg: Leg) -> int:
    """Passes over the source once the epoch in which the leg is left is over."""
    order = leg.stretch.make_order()
    if isinstance(order, SourceOrder) and leg.record.kind == "whole":
        return leg.stretch.epochs_before + -(-leg.left_at * order.seq_len // order.total_tokens)
    begin = np.array([leg.stretch.skip], np.int64)
    return leg.stretch.epochs_before + 1 + int(order.epochs_of(begin)[0])


class _Maker:
    """Makes the stretch of one record."""

    def __init__(
        self,
        config: LoaderConfig,
        name: str,
        number: int,
        record: LegRecord,
        manifest: SourceManifest,
        epochs: float | None,
    ) -> None:
        self.manifest = manifest
        self._config = config
        self._record = record
        self._epochs = None if epochs is None else Fraction(epochs)
        self._key = Key(seed=config.seed, name=name, label=f"order {number}" if number else "order")

    def fresh(self, passes: int) -> Stretch:
        """Epochs of their own, after `passes` over the source."""
        record, config = self._record, self._config
        tokens = with_separators(config, self.manifest)
        windows = None
        if config.packing == "best_fit":
            windows = find_windows(self.manifest.block_documents, tokens, record.seq_len)
            tokens = windows.num_sequences * record.seq_len
        total = int(tokens.sum())
        left = None if self._epochs is None else max(self._epochs - passes, Fraction(0))
        if record.kind == "once":
            left = Fraction(1)
        make = partial(
            SourceOrder,
            seq_len=record.seq_len,
            lanes=config.lanes,
            block_tokens=tokens,
            shuffle=config.shuffle,
            end=end_of(left, total),
            **self._key,
        )
        before = passes - (record.kind == "once" and passes > 0)
        return Stretch(make, cap_of(left, total, record.seq_len), 0, windows, before)

    def on(self, before: Leg) -> Stretch:
        """The rest of the epoch of `before`, in its order."""
        old, at = before.stretch, before.left_at
        order = old.make_order()
        make: Callable[[], Order] = old.make_order
        if isinstance(order, SourceOrder):
            epoch = at * order.seq_len // order.total_tokens
            assert isinstance(old.make_order, partial)
            make = partial(old.make_order, end=(epoch + 1) * order.total_tokens)
        left = order.epoch_end(at) - at
        if self._epochs is not None:
            left = min(left, before.stretch.num_sequences - before.num_sequences)
        return Stretch(make, left, at, old.windows, old.epochs_before)

    def rest(self, before: Leg) -> Stretch:
        """The rest of the epoch of `before`, cut anew."""
        old, at, seq_len = before.stretch, before.left_at, self._record.seq_len
        tokens = with_separators(self._config, before.manifest)
        recut = cut_rest(old.make_order, at, old.windows, tokens, seq_len, self._key)
        left = recut.num_sequences
        if self._epochs is not None:
            allowed = (old.num_sequences - before.num_sequences) * before.record.seq_len
            left = min(left, math.ceil(allowed / seq_len))
        return Stretch(recut.make_order, left, 0, recut.windows, old.epochs_before)


def with_separators(config: LoaderConfig, manifest: SourceManifest) -> Ints:
    """Tokens of each block of a source, separators included: int64 (num_blocks,)."""
    tokens: Ints = manifest.block_tokens + manifest.block_documents * config.num_separators
    return tokens
