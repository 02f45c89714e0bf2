"""From ordinals of a source to rows that the packing kernel writes: one way for each kind of packing.

A row is int64 (11,): sequence, column, offset in a block's stream, tokens, number of documents, the addresses of the
token array, `begins` and `edges`; then source, epoch and block.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from headrace.best_fit import Layout, Windows, pack_window
from headrace.order import SourceOrder
from headrace.permute import permutation
from headrace.reader import BlockCache, OrderedBlock, RecentlyUsed

Ints = npt.NDArray[np.int64]

_IN_FILE_ORDER = -1
"the epoch under which blocks are kept whose documents stay in the order of the file"


class Pieces(Protocol):
    """How the sequences of a source are put together from its blocks."""

    def table(self, source: int, slots: Ints, ordinals: Ints) -> tuple[Ints, list[OrderedBlock]]:
        """The rows of these sequences, and each row's block, which must live until the row is written.

        Args:
            source: number of the source.
            slots: int64 (n,), what goes into the first column for each of `ordinals`.
            ordinals: int64 (n,), the source's own numbers of the sequences.

        Returns:
            int64 (rows, 11), the rows of one sequence in the order of their columns.
        """

    def clear(self) -> None:
        """Drop what is kept and close every shard."""


def _row_table(
    source: int,
    slots: Ints | int,
    columns: Ints,
    offsets: Ints,
    counts: Ints,
    epochs: Ints | int,
    numbers: Ints,
    blocks: list[OrderedBlock],
) -> Ints:
    """The rows, one for each of `blocks`."""
    rows = np.empty((len(blocks), 11), np.int64)
    rows[:, 0] = slots
    rows[:, 1] = columns
    rows[:, 2] = offsets
    rows[:, 3] = counts
    if blocks:
        rows[:, 4:8] = [block.addresses for block in blocks]
    rows[:, 8] = source
    rows[:, 9] = epochs
    rows[:, 10] = numbers
    return rows


class ConcatPieces:
    """Documents joined end to end and cut at `seq_len`."""

    def __init__(self, orders: Sequence[SourceOrder], blocks: BlockCache) -> None:
        self._orders = orders
        self._blocks = blocks

    def table(self, source: int, slots: Ints, ordinals: Ints) -> tuple[Ints, list[OrderedBlock]]:
        """See `Pieces.table`."""
        order = self._orders[source]
        spans = order.spans_of(ordinals)
        blocks = [
            self._blocks.get(source, epoch, block, order)
            for epoch, block in zip(spans.epoch.tolist(), spans.block.tolist(), strict=True)
        ]
        into = slots[spans.slot]
        rows = _row_table(source, into, spans.column, spans.offset, spans.count, spans.epoch, spans.block, blocks)
        return rows, blocks

    def clear(self) -> None:
        """See `Pieces.clear`."""
        self._blocks.clear()


@dataclass(frozen=True, slots=True)
class _Packed:
    """A window's layout, and which block each of its stretches lies in."""

    layout: Layout
    block: Ints
    offset: Ints
    column: Ints

    @property
    def nbytes(self) -> int:
        """Memory that it holds."""
        layout = self.layout
        arrays = (layout.edges, layout.document, layout.first, layout.count, self.block, self.offset, self.column)
        return sum(array.nbytes for array in arrays)


class BestFitPieces:
    """Whole documents, best fit first, in windows of whole blocks."""

    def __init__(
        self, orders: Sequence[SourceOrder], windows: Sequence[Windows], blocks: BlockCache, cache_bytes: int
    ) -> None:
        self._orders = orders
        self._windows = windows
        self._blocks = blocks
        self._packed: RecentlyUsed[_Packed] = RecentlyUsed(cache_bytes)

    def table(self, source: int, slots: Ints, ordinals: Ints) -> tuple[Ints, list[OrderedBlock]]:
        """See `Pieces.table`."""
        spans = self._orders[source].spans_of(ordinals)
        sequence = spans.offset // self._orders[source].seq_len
        parts: list[Ints] = []
        blocks: list[OrderedBlock] = []
        where = zip(spans.slot.tolist(), spans.epoch.tolist(), spans.block.tolist(), sequence.tolist(), strict=True)
        for slot, epoch, window, number in where:
            packed = self._packed.get((source, epoch, window), self._pack)
            here = slice(int(packed.layout.edges[number]), int(packed.layout.edges[number + 1]))
            numbers, counts = packed.block[here], packed.layout.count[here]
            opened = [self._block(source, block) for block in numbers.tolist()]
            column, offset = packed.column[here], packed.offset[here]
            parts.append(_row_table(source, slots[slot], column, offset, counts, epoch, numbers, opened))
            blocks += opened
        return np.concatenate(parts), blocks

    def clear(self) -> None:
        """See `Pieces.clear`."""
        self._packed.clear()
        self._blocks.clear()

    def _block(self, source: int, block: int) -> OrderedBlock:
        return self._blocks.get(source, _IN_FILE_ORDER, block, None)

    def _pack(self, source: int, epoch: int, window: int) -> _Packed:
        order, windows = self._orders[source], self._windows[source]
        numbers = range(int(windows.first_block[window]), int(windows.first_block[window + 1]))
        edges = [self._block(source, block).order.edges for block in numbers]
        sizes = np.concatenate([np.diff(one) for one in edges])
        shuffled = permutation(order.document_key(epoch, window), len(sizes))
        layout = pack_window(shuffled, sizes, order.seq_len, int(windows.num_sequences[window]))
        block_of = np.repeat(np.array(numbers, np.int64), [len(one) - 1 for one in edges])
        begin_of = np.concatenate([one[:-1] for one in edges])
        # Columns count up from 0 in each sequence.
        before = np.concatenate(([0], np.cumsum(layout.count)))
        column = before[:-1] - np.repeat(before[layout.edges[:-1]], np.diff(layout.edges))
        return _Packed(layout, block_of[layout.document], begin_of[layout.document] + layout.first, column)
