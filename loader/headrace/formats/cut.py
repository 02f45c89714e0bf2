"""Cutting the rows of an Arrow shard into blocks: greedy, bounded, a function of the rows' lengths alone."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from headrace.formats.shard import MAX_BLOCK_ROWS, MAX_BLOCK_TOKENS, Int64Array


@dataclass(frozen=True, slots=True)
class Units:
    """What is never split over blocks: rows, or whole record batches where those must be decompressed at once.

    All arrays are int64 (num_units,): tokens, documents and rows of each, and the record batch and row in it where it
    starts.
    """

    tokens: Int64Array
    documents: Int64Array
    rows: Int64Array
    batch: Int64Array
    batch_row: Int64Array


@dataclass(slots=True)
class BlockCutter:
    """Joins units, in order, into blocks of at most `max_tokens` tokens and `max_rows` rows, or a single larger unit.

    The blocks do not depend on how the units are spread over calls of `add`. Keeps a few numbers a block, nothing a
    unit.
    """

    max_tokens: int = MAX_BLOCK_TOKENS
    max_rows: int = MAX_BLOCK_ROWS
    num_tokens: list[int] = field(default_factory=list)
    num_documents: list[int] = field(default_factory=list)
    num_rows: list[int] = field(default_factory=list)
    first_batch: list[int] = field(default_factory=list)
    first_batch_row: list[int] = field(default_factory=list)
    _is_open: bool = False

    def add(self, units: Units) -> None:
        """Appends `units` to the last block and to as many new ones as it takes."""
        token_ends, document_ends, row_ends = (
            np.concatenate(([0], np.cumsum(counts))) for counts in (units.tokens, units.documents, units.rows)
        )
        first, num_units = 0, len(units.tokens)
        while first < num_units:
            is_new = not self._is_open
            if is_new:
                self._start(int(units.batch[first]), int(units.batch_row[first]))
            fits = min(
                np.searchsorted(token_ends, token_ends[first] + self.max_tokens - self.num_tokens[-1], "right"),
                np.searchsorted(row_ends, row_ends[first] + self.max_rows - self.num_rows[-1], "right"),
            )
            last = max(int(fits) - 1, first + is_new)
            self.num_tokens[-1] += int(token_ends[last] - token_ends[first])
            self.num_documents[-1] += int(document_ends[last] - document_ends[first])
            self.num_rows[-1] += int(row_ends[last] - row_ends[first])
            self._is_open = last == num_units
            first = last

    def _start(self, batch: int, batch_row: int) -> None:
        for counts in (self.num_tokens, self.num_documents, self.num_rows):
            counts.append(0)
        self.first_batch.append(batch)
        self.first_batch_row.append(batch_row)
