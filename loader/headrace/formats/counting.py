"""The one pass over a foreign Arrow shard: headers, offsets and validity of every record batch, never a token."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from headrace.formats.cut import BlockCutter, Units
from headrace.formats.faults import BadRowError
from headrace.formats.index import ShardIndex
from headrace.formats.ipc.batches import WITHOUT_TOKENS, Batches, decode, select
from headrace.formats.ipc.documents import Rows, count_rows, read_rows
from headrace.formats.ipc.messages import Messages
from headrace.formats.ipc.schema import TokenColumn
from headrace.formats.shard import BlockTable, Int64Array

_BATCHES_AT_ONCE = 1 << 14
_ROWS_AT_ONCE = 1 << 20


def count_shard(column: TokenColumn, messages: Messages, located: Callable[[Messages], Batches]) -> ShardIndex:
    """Cuts the shard into blocks and counts them; raises BadRowError (rows from 0) or CorruptError.

    `located` finds the column's buffers in a run of messages; those of `WITHOUT_TOKENS` are read.
    """
    cutter = BlockCutter()
    num_rows = num_null = 0
    for first in range(0, len(messages), _BATCHES_AT_ONCE):
        batches = located(messages.run(first, first + _BATCHES_AT_ONCE))
        for start, stop in _groups(count_rows(column, batches)):
            group = select(batches, start, stop)
            for rows in _read(column, group, num_rows):
                cutter.add(_units(rows, first + start, whole_batches=group.is_compressed))
                num_rows += len(rows.lengths)
                num_null += int(rows.is_null.sum())
    return _index(cutter, column, num_null, messages)


def _groups(rows_in_batch: Int64Array) -> Iterator[tuple[int, int]]:
    """Runs of batches of at most `_ROWS_AT_ONCE` rows together, or a single batch of more."""
    ends = np.cumsum(rows_in_batch)
    start = 0
    while start < len(ends):
        before = ends[start - 1] if start else 0
        stop = max(int(np.searchsorted(ends, before + _ROWS_AT_ONCE, "right")), start + 1)
        yield start, stop
        start = stop


def _read(column: TokenColumn, group: Batches, rows_before: int) -> Iterator[Rows]:
    num_rows = int(count_rows(column, group).sum())
    step = num_rows if group.is_compressed else _ROWS_AT_ONCE
    plain = decode(group, WITHOUT_TOKENS) if group.is_compressed else group
    for skip in range(0, num_rows, step or 1):
        try:
            yield read_rows(column, plain, skip, min(step, num_rows - skip))
        except BadRowError as error:
            raise BadRowError(rows_before + error.row, str(error)) from error


def _units(rows: Rows, first_batch: int, *, whole_batches: bool) -> Units:
    is_document = (rows.lengths > 0).astype(np.int64)
    if not whole_batches:
        one = np.ones(len(rows.lengths), np.int64)
        return Units(rows.lengths, is_document, one, first_batch + rows.batch, rows.row_in_batch)
    batch, starts, counts = np.unique(rows.batch, return_index=True, return_counts=True)
    if len(starts) == 0:
        return Units(starts, starts, starts, starts, starts)
    return Units(
        tokens=np.add.reduceat(rows.lengths, starts),
        documents=np.add.reduceat(is_document, starts),
        rows=counts.astype(np.int64),
        batch=first_batch + batch,
        batch_row=np.zeros_like(batch),
    )


def _index(cutter: BlockCutter, column: TokenColumn, num_null: int, messages: Messages) -> ShardIndex:
    num_rows, num_documents = np.array(cutter.num_rows, np.int64), np.array(cutter.num_documents, np.int64)
    table = BlockTable(
        first_row=np.cumsum(num_rows) - num_rows,
        num_rows=num_rows,
        num_documents=num_documents,
        num_tokens=np.array(cutter.num_tokens, np.int64),
        num_empty=int(num_rows.sum() - num_documents.sum()) - num_null,
        num_null=num_null,
        token_dtype=column.dtype,
    )
    first_batch, first_batch_row = np.array(cutter.first_batch, np.int64), np.array(cutter.first_batch_row, np.int64)
    ends = end_batches(first_batch, first_batch_row, len(messages))
    return ShardIndex(
        table,
        first_batch,
        first_batch_row,
        first_byte=messages.offsets[first_batch],
        end_byte=messages.ends[ends - 1],
        layout=column.to_json(),
    )


def end_batches(first_batch: Int64Array, first_batch_row: Int64Array, num_batches: int) -> Int64Array:
    """For each block, the record batch after its last, int64 (num_blocks,); blocks may share a batch."""
    return np.append(first_batch[1:] + (first_batch_row[1:] > 0), num_batches)[: len(first_batch)]
