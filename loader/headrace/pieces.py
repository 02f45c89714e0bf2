"""From ordinals of a source to rows that the packing kernel writes: one way for each kind of packing.

A row is int64 (12,): sequence, column, offset in a block's stream, tokens, number of documents, the addresses of the
token array, `begins` and `edges`; then source, epoch and block, and where that block is among those opened for it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from headrace.best_fit import Windows, pack_window
from headrace.permute import permutation
from headrace.reader import BlockCache, OrderedBlock, RecentlyUsed, last_ordinal
from headrace.rest import OrderTable

Ints = npt.NDArray[np.int64]


BLOCK_BITS = 32
"of a key that holds an epoch and a block"


@dataclass(slots=True)
class Cuts:
    """How many documents best-fit packing had to cut, though they are no longer than a sequence."""

    documents: int = 0
    "in the windows packed so far"
    cut: int = 0

    @property
    def share(self) -> float:
        """Part of the documents that was cut."""
        return self.cut / max(self.documents, 1)


class Pieces(Protocol):
    """How the sequences of a source are put together from its blocks."""

    @property
    def cuts(self) -> Cuts | None:
        """What was cut so far; None where documents are joined, and cut anywhere."""

    def table(self, source: int, slots: Ints, ordinals: Ints) -> tuple[Ints, list[OrderedBlock]]:
        """The rows of these sequences, and the blocks of them all, which must live until the rows are written.

        Args:
            source: number of the source.
            slots: int64 (n,), what goes into the first column for each of `ordinals`.
            ordinals: int64 (n,), the source's own numbers of the sequences.

        Returns:
            int64 (rows, 12), the rows of one sequence in the order of their columns.
        """

    def holds(self, source: int, epoch: int, unit: int) -> bool:
        """Whether what the spans of an order call a block, `unit`, is open already."""

    def blocks_of(self, source: int, unit: int) -> Sequence[int]:
        """The blocks of the manifest that `unit` is made of."""

    def clear(self) -> None:
        """Drop what is kept and close every shard."""


class ConcatPieces:
    """Documents joined end to end and cut at `seq_len`."""

    cuts = None

    def __init__(self, orders: OrderTable, blocks: BlockCache) -> None:
        self._orders = orders
        self._blocks = blocks

    def table(self, source: int, slots: Ints, ordinals: Ints) -> tuple[Ints, list[OrderedBlock]]:
        """See `Pieces.table`."""
        order = self._orders[source]
        spans = order.spans_of(ordinals)
        now = int(ordinals.min())
        self._blocks.let_go(source, now)
        keys, which = np.unique((spans.epoch << BLOCK_BITS) + spans.block, return_inverse=True)
        epochs, numbers = (keys >> BLOCK_BITS).tolist(), (keys & (1 << BLOCK_BITS) - 1).tolist()
        blocks = [
            self._blocks.get(source, epoch, block, order, now) for epoch, block in zip(epochs, numbers, strict=True)
        ]
        rows = np.empty((len(which), 12), np.int64)
        rows[:, 0] = slots[spans.slot]
        rows[:, 1] = spans.column
        rows[:, 2] = spans.offset
        rows[:, 3] = spans.count
        rows[:, 4:8] = np.array([block.addresses for block in blocks], np.int64)[which]
        rows[:, 8] = source
        rows[:, 9] = spans.epoch
        rows[:, 10] = spans.block
        rows[:, 11] = which
        return rows, blocks

    def holds(self, source: int, epoch: int, unit: int) -> bool:
        """See `Pieces.holds`."""
        return self._blocks.holds(source, epoch, unit)

    def blocks_of(self, source: int, unit: int) -> Sequence[int]:
        """See `Pieces.blocks_of`."""
        return (unit,)

    def clear(self) -> None:
        """See `Pieces.clear`."""
        self._blocks.clear()


@dataclass(frozen=True, slots=True)
class _Packed:
    """A window of one epoch: its blocks, and where the stretches of each of its sequences lie in them."""

    edges: Ints
    "int64 (num_sequences + 1,): stretches `[edges[s], edges[s + 1])` are those of sequence `s`"
    stretches: Ints
    "int64 (n, 4): column, offset in its block's stream, tokens, and which of the blocks"
    blocks: list[OrderedBlock]
    places: Ints
    "int64 (num_blocks, 5): what rows say of each block, and its number in the manifest"

    @property
    def nbytes(self) -> int:
        """Memory that it holds, its blocks included."""
        return self.edges.nbytes + self.stretches.nbytes + sum(block.nbytes for block in self.blocks)


class BestFitPieces:
    """Whole documents, best fit first, in windows of whole blocks. A window is opened and kept as a whole."""

    def __init__(self, orders: OrderTable, windows: Sequence[Windows], blocks: BlockCache, cache_bytes: int) -> None:
        self._orders = orders
        self._windows = windows
        self._blocks = blocks
        self._packed: RecentlyUsed[_Packed] = RecentlyUsed(cache_bytes)
        self.cuts = Cuts()

    def table(self, source: int, slots: Ints, ordinals: Ints) -> tuple[Ints, list[OrderedBlock]]:
        """See `Pieces.table`."""
        order = self._orders[source]
        spans = order.spans_of(ordinals)
        sequence = spans.offset // order.seq_len
        now = int(ordinals.min())
        self._packed.let_go(source, now)
        stretches: list[Ints] = []
        places: list[Ints] = []
        which: list[Ints] = []
        blocks: list[OrderedBlock] = []
        firsts: dict[tuple[int, int], int] = {}
        for epoch, window, number in zip(spans.epoch.tolist(), spans.block.tolist(), sequence.tolist(), strict=True):
            packed = self._window(source, epoch, window, now)
            first = firsts.setdefault((epoch, window), len(blocks))
            if first == len(blocks):
                blocks += packed.blocks
            here = packed.stretches[packed.edges[number] : packed.edges[number + 1]]
            stretches.append(here)
            places.append(packed.places[here[:, 3]])
            which.append(first + here[:, 3])
        counts = [len(part) for part in stretches]
        rows = np.empty((sum(counts), 12), np.int64)
        rows[:, 0] = np.repeat(slots[spans.slot], counts)
        rows[:, 1:4] = np.concatenate(stretches)[:, :3]
        rows[:, 8] = source
        rows[:, 9] = np.repeat(spans.epoch, counts)
        rows[:, (4, 5, 6, 7, 10)] = np.concatenate(places)
        rows[:, 11] = np.concatenate(which)
        return rows, blocks

    def holds(self, source: int, epoch: int, unit: int) -> bool:
        """See `Pieces.holds`."""
        return self._packed.holds((source, epoch, unit))

    def blocks_of(self, source: int, unit: int) -> Sequence[int]:
        """See `Pieces.blocks_of`."""
        windows = self._windows[source]
        return range(int(windows.first_block[unit]), int(windows.first_block[unit + 1]))

    def clear(self) -> None:
        """See `Pieces.clear`."""
        self._packed.clear()
        self._blocks.clear()

    def _window(self, source: int, epoch: int, window: int, ordinal: int) -> _Packed:
        key = (source, epoch, window)
        found = self._packed.find(key)
        if found is None:
            found = self._pack(*key)
            until = None
            if all(block.is_mapped for block in found.blocks):
                order = self._orders[source]
                until = last_ordinal(order, ordinal, (len(found.edges) - 1) * order.seq_len)
            self._packed.keep(key, found, until)
        return found

    def _pack(self, source: int, epoch: int, window: int) -> _Packed:
        order, windows = self._orders[source], self._windows[source]
        numbers = self.blocks_of(source, window)
        blocks = [self._blocks.open(source, block, None) for block in numbers]
        edges = [block.order.edges for block in blocks]
        sizes = np.concatenate([np.diff(one) for one in edges])
        shuffled = permutation(order.document_key(epoch, window), len(sizes))
        layout = pack_window(shuffled, sizes, order.seq_len, int(windows.num_sequences[window]))
        self.cuts.documents += len(sizes)
        self.cuts.cut += layout.num_cut
        block_of = np.repeat(np.arange(len(blocks)), [len(one) - 1 for one in edges])
        begin_of = np.concatenate([one[:-1] for one in edges])
        # Columns count up from 0 in each sequence.
        before = np.concatenate(([0], np.cumsum(layout.count)))
        column = before[:-1] - np.repeat(before[layout.edges[:-1]], np.diff(layout.edges))
        offset = begin_of[layout.document] + layout.first
        stretches = np.column_stack((column, offset, layout.count, block_of[layout.document]))
        places = [(*block.addresses, number) for block, number in zip(blocks, numbers, strict=True)]
        return _Packed(layout.edges, stretches, blocks, np.array(places, np.int64))
