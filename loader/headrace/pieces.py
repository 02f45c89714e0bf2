"""From ordinals of a source to rows that the packing kernel writes: one way for each kind of packing.

A row is int64 (11,): sequence, column, offset in a block's stream, tokens, number of documents, the addresses of the
token array, `begins` and `edges`; then source, epoch and block.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from headrace.best_fit import Layout, Windows, pack_window
from headrace.order import SourceOrder
from headrace.permute import permutation
from headrace.reader import BlockCache, OrderedBlock

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


def _row_table(rows: int, source: int) -> Ints:
    table = np.empty((rows, 11), np.int64)
    table[:, 8] = source
    return table


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
        rows = _row_table(len(blocks), source)
        rows[:, 0] = slots[spans.slot]
        rows[:, 1] = spans.column
        rows[:, 2] = spans.offset
        rows[:, 3] = spans.count
        rows[:, 4:8] = [block.addresses for block in blocks]
        rows[:, 9] = spans.epoch
        rows[:, 10] = spans.block
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
        layout = self.layout
        arrays = (layout.edges, layout.document, layout.first, layout.count, self.block, self.offset, self.column)
        return sum(array.nbytes for array in arrays)


class BestFitPieces:
    """Whole documents, best fit first, in windows of whole blocks.

    `num_packed` and `num_cut` count the documents of the windows packed so far, and those of them that were no longer
    than a sequence and yet had to be split.
    """

    def __init__(
        self, orders: Sequence[SourceOrder], windows: Sequence[Windows], blocks: BlockCache, cache_bytes: int
    ) -> None:
        self._orders = orders
        self._windows = windows
        self._blocks = blocks
        self._limit = cache_bytes
        self._used = 0
        self._packed: OrderedDict[tuple[int, int, int], _Packed] = OrderedDict()
        self.num_packed = 0
        self.num_cut = 0

    def table(self, source: int, slots: Ints, ordinals: Ints) -> tuple[Ints, list[OrderedBlock]]:
        """See `Pieces.table`."""
        spans = self._orders[source].spans_of(ordinals)
        sequence = spans.offset // self._orders[source].seq_len
        parts: list[Ints] = []
        blocks: list[OrderedBlock] = []
        where = zip(spans.slot.tolist(), spans.epoch.tolist(), spans.block.tolist(), sequence.tolist(), strict=True)
        for slot, epoch, window, number in where:
            packed = self._window(source, epoch, window)
            here = slice(int(packed.layout.edges[number]), int(packed.layout.edges[number + 1]))
            opened = [self._block(source, block) for block in packed.block[here].tolist()]
            rows = _row_table(len(opened), source)
            rows[:, 0] = slots[slot]
            rows[:, 1] = packed.column[here]
            rows[:, 2] = packed.offset[here]
            rows[:, 3] = packed.layout.count[here]
            if opened:
                rows[:, 4:8] = [block.addresses for block in opened]
            rows[:, 9] = epoch
            rows[:, 10] = packed.block[here]
            parts.append(rows)
            blocks += opened
        return np.concatenate(parts), blocks

    def clear(self) -> None:
        """See `Pieces.clear`."""
        self._packed.clear()
        self._used = 0
        self._blocks.clear()

    def _block(self, source: int, block: int) -> OrderedBlock:
        return self._blocks.get(source, _IN_FILE_ORDER, block, None)

    def _window(self, source: int, epoch: int, window: int) -> _Packed:
        key = (source, epoch, window)
        found = self._packed.get(key)
        if found is not None:
            self._packed.move_to_end(key)
            return found
        made = self._pack(source, epoch, window)
        while self._packed and self._used + made.nbytes > self._limit:
            self._used -= self._packed.popitem(last=False)[1].nbytes
        self._used += made.nbytes
        self._packed[key] = made
        return made

    def _pack(self, source: int, epoch: int, window: int) -> _Packed:
        order, windows = self._orders[source], self._windows[source]
        numbers = range(int(windows.first_block[window]), int(windows.first_block[window + 1]))
        edges = [self._block(source, block).order.edges for block in numbers]
        sizes = np.concatenate([np.diff(one) for one in edges])
        key = order.document_key(epoch, window)
        shuffled = np.arange(len(sizes)) if key is None else permutation(key, len(sizes))
        layout = pack_window(shuffled, sizes, order.seq_len, int(windows.num_sequences[window]))
        self.num_packed += len(sizes)
        self.num_cut += layout.num_cut
        block_of = np.repeat(np.array(numbers, np.int64), [len(one) - 1 for one in edges])
        begin_of = np.concatenate([one[:-1] for one in edges])
        # Columns count up from 0 in each sequence.
        before = np.concatenate(([0], np.cumsum(layout.count)))
        column = before[:-1] - np.repeat(before[layout.edges[:-1]], np.diff(layout.edges))
        return _Packed(layout, block_of[layout.document], begin_of[layout.document] + layout.first, column)
