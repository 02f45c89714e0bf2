"""Counts what reached a batch as holes: places that hold padding where a document's tokens would have been."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from headrace.holes import UNKNOWN_ROW, hole_stretches
from headrace.reader import OrderedBlock
from headrace.telemetry.port import MaskedPlace

Ints = npt.NDArray[np.int64]


class Masked:
    """The masked places of one rank since it started."""

    def __init__(self, names: Sequence[str], name_of: Callable[[int, int], str]) -> None:
        """`names` of the sources, by leg; `name_of(leg, block)` is the shard that holds a block."""
        self._names = names
        self._name_of = name_of
        self.tokens = 0
        self.last: MaskedPlace | None = None

    def add(
        self,
        rows: Ints,
        blocks: Sequence[OrderedBlock],
        first_sequence: int,
        is_hole: npt.NDArray[np.bool_] | None,
    ) -> None:
        """Count the holes in what is written to a micro-batch.

        Args:
            rows: int64 (n, 12), as `Pieces.table` makes them.
            blocks: those that the last column counts along.
            first_sequence: the number, in `rows`, of the micro-batch's first sequence.
            is_hole: (micro_batch, seq_len), set where holes are; None where nobody asks.
        """
        for row in rows.tolist():
            block = blocks[row[11]]
            if not block.has_holes:
                continue
            sequence, column, offset, count = row[:4]
            stretches = hole_stretches(block.order, offset, count)
            for first, last in stretches.tolist():
                self.tokens += last - first
                if is_hole is not None:
                    is_hole[sequence - first_sequence, column + first : column + last] = True
            if len(stretches):
                self._note(row[8], row[10], block, offset + int(stretches[-1, 0]))

    def _note(self, leg: int, number: int, block: OrderedBlock, offset: int) -> None:
        """Remember the document at `offset` of a block's stream."""
        place = int(np.searchsorted(block.order.edges, offset, side="right")) - 1
        row = int(block.block.rows[block.order.documents[place]])
        known = None if row == UNKNOWN_ROW else row
        self.last = MaskedPlace(self._names[leg], self._name_of(leg, number), known)
