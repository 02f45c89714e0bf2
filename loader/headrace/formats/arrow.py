"""Local Arrow IPC shards: files and streams, list columns or one document a record batch, plain or compressed.

Plain data is mapped and never copied: a block's `tokens` is one view over the whole file. Counts come from the
metadata of Headrace's own shards (`written`), else from the index cache, else from one pass over headers and offsets
(`counting`).
"""

from __future__ import annotations

import threading
from typing import Final

import numpy as np

from headrace.formats.counting import count_shard
from headrace.formats.faults import ColumnError, CorruptError, check_counts, naming
from headrace.formats.index import ShardIndex, index_key, load_index, store_index
from headrace.formats.ipc.batches import VALUES, WITHOUT_TOKENS, Batches, decode, locate
from headrace.formats.ipc.documents import Rows, read_rows, read_tokens
from headrace.formats.ipc.flatbuffer import Memory
from headrace.formats.ipc.messages import FILE_MAGIC, Contents, footer_bytes, parse_footer, viewing, walk
from headrace.formats.ipc.schema import TokenColumn, find_column
from headrace.formats.shard import Block, BlockTable
from headrace.formats.written import written_index
from headrace.places import LocalFile

_AFTER_MAGIC: Final = 8


class ArrowShard:
    """An Arrow IPC shard, open for reading; see `ShardFile`."""

    def __init__(self, contents: Contents, column: str, file: LocalFile, known: ShardIndex | None) -> None:
        self._file = file
        self._path = file.name
        self._messages = contents.messages
        self._column_name = column
        with naming(self._path):
            self._column = find_column(contents.schema, column)
            self._index = written_index(contents.schema.metadata, self._column, self._messages) or known
        self._memory: Memory | None = None
        self._lock = threading.Lock()

    def table(self) -> BlockTable:
        """See `ShardFile.table`."""
        return self._indexed().table

    def index(self) -> ShardIndex:
        """The table, and where its blocks lie."""
        return self._indexed()

    def open_block(self, index: int) -> Block:
        """See `ShardFile.open_block`."""
        known = self._indexed()
        first, skip = int(known.first_batch[index]), int(known.first_batch_row[index])
        last = len(self._messages)
        if index + 1 < known.table.num_blocks:
            last = int(known.first_batch[index + 1]) + int(known.first_batch_row[index + 1] > 0)
        with naming(self._path, index, int(known.table.first_row[index])):
            batches = locate(self._mapped(), self._column, self._messages.run(first, last))
            if batches.is_compressed:
                batches = decode(batches, (*WITHOUT_TOKENS, VALUES))
            rows = read_rows(self._column, batches, skip, int(known.table.num_rows[index]))
            return make_block(self._column, known.table, index, batches, rows)

    def close(self) -> None:
        """See `ShardFile.close`."""
        self._memory = None

    def _indexed(self) -> ShardIndex:
        with self._lock:
            if self._index is None:
                key = index_key(self._file, self._column_name)
                self._index = load_index(key)
                if self._index is None:
                    with naming(self._path):
                        memory = self._mapped()
                        self._index = count_shard(
                            self._column, self._messages, lambda run: locate(memory, self._column, run)
                        )
                    store_index(key, self._index)
            return self._index

    def _mapped(self) -> Memory:
        """The mapped file, after a check that it still has the size it was opened with."""
        self._file.check()
        memory = self._memory
        if memory is None:
            self._memory = memory = self._file.map()
        return memory


def make_block(column: TokenColumn, table: BlockTable, index: int, batches: Batches, rows: Rows) -> Block:
    """The block of these rows; raises CorruptError where it has not the counts of the table."""
    tokens, starts, is_copied = read_tokens(column, batches, rows)
    kept = np.flatnonzero(rows.lengths > 0)
    lengths = rows.lengths[kept]
    check_counts(len(kept), int(lengths.sum()), int(table.num_documents[index]), int(table.num_tokens[index]))
    own_bytes = tokens.nbytes if is_copied or batches.is_decoded else 0
    return Block(
        tokens, starts[kept], lengths, table.first_row[index] + kept, own_bytes + 3 * lengths.nbytes, batches.memory
    )


def open_arrow_file(tail: bytes, column: str, file: LocalFile, known: ShardIndex | None) -> ArrowShard:
    """Opens an IPC file that ends in `tail`; raises ShardError or SourceError naming it."""
    with naming(file.name):
        size = footer_bytes(tail, file.size_bytes)
        contents = parse_footer(tail[-size:] if size <= len(tail) else file.map()[-size:].data)
    return ArrowShard(contents, column, file, known)


def open_arrow_stream(column: str, file: LocalFile, head: bytes, known: ShardIndex | None) -> ArrowShard:
    """Opens an IPC stream, or says how much of it, or of a file without its footer, is whole."""
    is_file = head.startswith(FILE_MAGIC)
    with naming(file.name):
        memory = file.map()
        try:
            contents = walk(viewing(memory), memory.size, _AFTER_MAGIC if is_file else 0)
        except ColumnError:
            raise
        except CorruptError:
            if is_file:
                raise CorruptError("is cut: it starts as an Arrow IPC file and has no footer") from None
            raise
        if is_file or contents.cut:
            raise CorruptError(_cut(contents, memory, column, is_file))
    return ArrowShard(contents, column, file, known)


def _cut(contents: Contents, memory: Memory, column: str, is_file: bool) -> str:
    batches = locate(memory, find_column(contents.schema, column), contents.messages)
    what = "is cut: it starts as an Arrow IPC file and has no footer" if is_file else contents.cut
    return (
        f"{what}; {len(contents.messages)} record batches with {batches.num_rows.sum()} rows before the cut are whole"
    )
