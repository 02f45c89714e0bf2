"""Shards on object storage: footers and blocks by ranged reads, never a whole file where a part will do.

A block of plain Arrow rows is the byte range of its record batches, read at once where that is little more than its
tokens; otherwise headers, offsets and tokens are read one after another. Footers of Parquet are read as for local
files; see `parquet` for its row groups.
"""

from __future__ import annotations

from typing import Final

from headrace.formats.allowance import Allowance
from headrace.formats.arrow import make_block
from headrace.formats.counting import count_shard
from headrace.formats.faults import CorruptError, naming
from headrace.formats.index import ShardIndex, index_key, load_index, store_index
from headrace.formats.ipc.batches import VALUES, WITHOUT_TOKENS, Batches, decode, locate
from headrace.formats.ipc.documents import Rows, read_rows
from headrace.formats.ipc.messages import (
    FILE_MAGIC,
    Contents,
    Messages,
    footer_bytes,
    is_stream,
    parse_footer,
    scan,
    viewing,
    walk,
)
from headrace.formats.ipc.schema import TokenColumn, find_column
from headrace.formats.magic import PARQUET_MAGIC, TAIL_BYTES, complaint
from headrace.formats.parquet import open_parquet
from headrace.formats.shard import Block, BlockTable, ShardFile
from headrace.formats.sparse import load_buffers, load_rows, locate_remote, peeking
from headrace.formats.written import written_index
from headrace.places import File

_ROW_BYTES: Final = 16
_SLACK_BYTES: Final = 1 << 16


class RemoteArrowShard:
    """An Arrow IPC shard on object storage; see `ShardFile`. Nothing is held between reads but its index."""

    def __init__(self, file: File, column: TokenColumn, index: ShardIndex) -> None:
        self._file = file
        self._column = column
        self._index = index

    def table(self) -> BlockTable:
        """See `ShardFile.table`."""
        return self._index.table

    def index(self) -> ShardIndex:
        """The table, and where its blocks lie."""
        return self._index

    def open_block(self, index: int) -> Block:
        """See `ShardFile.open_block`."""
        table = self._index.table
        with naming(self._file.name, index, int(table.first_row[index])):
            batches, rows = self._rows(index)
            return make_block(self._column, table, index, batches, rows)

    def close(self) -> None:
        """See `ShardFile.close`."""

    def _rows(self, index: int) -> tuple[Batches, Rows]:
        table = self._index.table
        skip, take = int(self._index.first_batch_row[index]), int(table.num_rows[index])
        first, end = int(self._index.first_byte[index]), int(self._index.end_byte[index])
        needed = int(table.num_tokens[index]) * self._column.dtype.itemsize + _ROW_BYTES * take
        if end - first <= 2 * needed + _SLACK_BYTES:
            memory = self._file.read(first, end - first)
            found = Messages.of(scan(viewing(memory), 0, memory.size))
            batches = locate(memory, self._column, found)
        else:
            found = Messages.of(scan(peeking(self._file, first, end), first, end))
            batches = locate_remote(self._file, self._column, found)
            if not batches.is_compressed:
                return load_rows(self._file, self._column, batches, skip, take)
            batches = load_buffers(self._file, batches, (*WITHOUT_TOKENS, VALUES))
        if batches.is_compressed:
            batches = decode(batches, (*WITHOUT_TOKENS, VALUES))
        batches = batches.in_memory()
        return batches, read_rows(self._column, batches, skip, take)


def open_remote(file: File, column: str, known: ShardIndex | None, allowance: Allowance) -> ShardFile:
    """Opens a shard from its footer, or from what is `known` or remembered of it; raises as `open_shard` does."""
    known = known or load_index(index_key(file, column))
    if known is not None and known.layout:
        return RemoteArrowShard(file, TokenColumn.from_json(known.layout), known)
    with naming(file.name):
        size = min(TAIL_BYTES, file.size_bytes)
        tail = file.read(file.size_bytes - size, size).tobytes()
        if len(tail) > 18 and tail.endswith(FILE_MAGIC):
            return _open_arrow(file, column, _footer(file, tail), allowance)
        if tail.endswith(PARQUET_MAGIC):
            return open_parquet(tail, column, file)
        head = tail[:8] if size == file.size_bytes else file.read(0, 8).tobytes()
        if head.startswith(FILE_MAGIC):
            raise CorruptError("is cut: it starts as an Arrow IPC file and has no footer")
        if not is_stream(head):
            raise CorruptError(complaint(head, file.size_bytes))
        return _open_arrow(file, column, _walk(file, allowance), allowance)


def _footer(file: File, tail: bytes) -> Contents:
    size = footer_bytes(tail, file.size_bytes)
    return parse_footer(tail[-size:] if size <= len(tail) else file.read(file.size_bytes - size, size).data)


def _walk(file: File, allowance: Allowance) -> Contents:
    """The messages of a stream, one after another, since it has no footer."""
    contents = walk(peeking(file, 0, file.size_bytes), file.size_bytes, on_batch=lambda: allowance.take(file.name, 1))
    if contents.cut:
        raise CorruptError(f"{contents.cut}; {len(contents.messages)} record batches before the cut are whole")
    return contents


def _open_arrow(file: File, column_name: str, contents: Contents, allowance: Allowance) -> RemoteArrowShard:
    column, messages = find_column(contents.schema, column_name), contents.messages
    index = written_index(contents.schema.metadata, column, messages)
    if index is None:
        if not contents.is_stream:
            allowance.take(file.name, len(messages))
        index = count_shard(
            column,
            messages,
            lambda run: load_buffers(file, locate_remote(file, column, run), WITHOUT_TOKENS),
        )
        store_index(index_key(file, column_name), index)
    return RemoteArrowShard(file, column, index)
