"""Shards of formats that other packages bring, held to the same promises as Headrace's own.

A package claims an extension by an entry point of the group `headrace.formats`, named after it:

    [project.entry-points."headrace.formats"]
    tok = "my_package.shards:open_tok"          # files that end in .tok

`open_tok(file, column)` gets a `headrace.places.File`, which reads ranges of a local file or of an object alike, and
returns a `ShardFile`. It raises ValueError, worded to follow the file's name, for what is wrong with the content; the
file, block and row are added here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.metadata import EntryPoint
from typing import cast

import numpy as np

from headrace.errors import ConfigError, HeadraceError
from headrace.formats.faults import CorruptError, check_counts, naming
from headrace.formats.shard import Block, BlockTable, ShardFile
from headrace.places import File

OpenShard = Callable[[File, str], ShardFile]


def open_claimed(claim: EntryPoint, file: File, column: str) -> ShardFile:
    """Opens `file` with the format that claims it.

    Raises ConfigError where that can't be imported, ShardError where it refuses the file or breaks a promise.
    """
    try:
        opener = cast("OpenShard", claim.load())
    except (ImportError, AttributeError) as error:
        raise ConfigError(
            f"{file.name} is claimed by {claim.value!r} (entry point '{claim.name}' of {claim.group}), which can't be "
            f"imported ({error}); install its package anew, or uninstall it"
        ) from error
    with naming(file.name), _foreign():
        shard = opener(file, column)
        return ClaimedShard(file, shard, _checked(shard.table()))


class ClaimedShard:
    """A shard of another package's format, whose tables and blocks are checked; see `ShardFile`."""

    def __init__(self, file: File, shard: ShardFile, table: BlockTable) -> None:
        self._file = file
        self._shard = shard
        self._table = table

    def table(self) -> BlockTable:
        """See `ShardFile.table`."""
        return self._table

    def open_block(self, index: int) -> Block:
        """See `ShardFile.open_block`."""
        with naming(self._file.name, index, int(self._table.first_row[index])):
            self._file.check()
            with _foreign():
                block = self._shard.open_block(index)
            _check_block(block, self._table, index)
        return block

    def close(self) -> None:
        """See `ShardFile.close`."""
        self._shard.close()


@contextmanager
def _foreign() -> Iterator[None]:
    """Lets Headrace's own errors and OSErrors through; everything else is the shard's, or the format's, fault."""
    try:
        yield
    except (HeadraceError, CorruptError, OSError):
        raise
    except ValueError as error:
        raise CorruptError(str(error)) from error
    except Exception as error:
        raise CorruptError(f"can't be read by its format ({type(error).__name__}: {error})") from error


def _checked(table: BlockTable) -> BlockTable:
    columns = (table.first_row, table.num_rows, table.num_documents, table.num_tokens)
    if any(one.dtype != np.int64 or one.shape != (len(columns[0]),) for one in columns):
        raise CorruptError("has a table whose columns are not int64 arrays of one length")
    first_row, num_rows, documents, tokens = columns
    if (first_row != np.cumsum(num_rows) - num_rows).any() or (num_rows < 0).any():
        raise CorruptError("has blocks whose rows do not follow one another")
    if ((documents < 0) | (documents > num_rows) | (tokens < documents)).any():
        raise CorruptError("has a block with more documents than rows, or fewer tokens than documents")
    if table.token_dtype.kind not in "iu" or table.token_dtype.byteorder == ">":
        raise CorruptError(f"has tokens of type {table.token_dtype}; they must be little-endian integers")
    return table


def _check_block(block: Block, table: BlockTable, index: int) -> None:
    columns = (block.starts, block.lengths, block.rows)
    if any(one.dtype != np.int64 or one.shape != (len(columns[0]),) for one in columns):
        raise CorruptError("has a block whose starts, lengths and rows are not int64 arrays of one length")
    tokens = block.tokens
    if tokens.dtype != table.token_dtype or tokens.ndim != 1 or not tokens.flags.c_contiguous:
        raise CorruptError(f"has a block whose tokens are not one contiguous array of {table.token_dtype}")
    check_counts(
        len(block.lengths),
        int(block.lengths.sum()),
        int(table.num_documents[index]),
        int(table.num_tokens[index]),
    )
    first, last = int(table.first_row[index]), int(table.first_row[index] + table.num_rows[index])
    if (block.lengths < 1).any() or (block.starts < 0).any() or (block.starts + block.lengths > tokens.size).any():
        raise CorruptError("has a document that is empty or lies outside its block's tokens")
    if (np.diff(block.rows, prepend=first - 1, append=last) < 1).any():
        raise CorruptError(f"has a block whose rows are not increasing from {first} on and below {last}")
