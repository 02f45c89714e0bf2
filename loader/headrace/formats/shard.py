"""What an opened shard offers, whatever its format: a table of blocks, and the documents of any one block.

A *document* is a row of the token column that is neither null nor empty; the others are counted and left out. A
*block* is a run of consecutive rows that is read together: a Parquet row group, or a run of Arrow rows of bounded
size.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

Int64Array = npt.NDArray[np.int64]

MAX_BLOCK_TOKENS = 1 << 18
"""Tokens a block of Arrow rows holds at most, unless a single document is longer."""

MAX_BLOCK_ROWS = 1 << 13
"""Rows, and so documents, that a block of Arrow rows holds at most."""


@dataclass(frozen=True, slots=True)
class BlockTable:
    """The counts of every block of one shard, in the order of the file's rows.

    `first_row`, `num_rows`, `num_documents` and `num_tokens` are int64 (num_blocks,). Tokens are those of the
    documents, without separators. `min_token` and `max_token` are set only where the file itself proves them.
    """

    first_row: Int64Array
    num_rows: Int64Array
    num_documents: Int64Array
    num_tokens: Int64Array
    num_empty: int
    num_null: int
    token_dtype: np.dtype[np.integer]
    max_token: int | None = None
    min_token: int | None = None

    @property
    def num_blocks(self) -> int:
        """The number of blocks, those without a document included."""
        return len(self.first_row)


@dataclass(frozen=True, slots=True)
class Block:
    """One opened block: document `i` is `tokens[starts[i] : starts[i] + lengths[i]]` and row `rows[i]` of the file.

    `tokens` is one-dimensional and holds little-endian integers as stored; it may be a read-only view of the whole
    mapped file. `starts`, `lengths` (at least 1) and `rows` are int64 (num_documents,), rows increasing. `nbytes` is
    the memory the block holds beyond the page cache. `tokens` is valid while the block, or any view of `tokens`, is
    alive.
    """

    tokens: npt.NDArray[np.integer]
    starts: Int64Array
    lengths: Int64Array
    rows: Int64Array
    nbytes: int
    keepalive: object


class ShardFile(Protocol):
    """An open shard. Every method may be called from several threads at once."""

    def table(self) -> BlockTable:
        """The counts of all blocks; the first call may read (and cache) what the file's footer leaves out.

        Raises ShardError when the file can't be counted.
        """

    def open_block(self, index: int) -> Block:
        """The documents of block `index` (0 ≤ index < num_blocks).

        Raises ShardError, naming the file, block and row, when the data can't be decoded, has null elements, or does
        not have the counts of the table.
        """

    def close(self) -> None:
        """Lets go of the file; blocks already opened stay valid."""
