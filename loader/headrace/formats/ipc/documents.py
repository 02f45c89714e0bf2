"""Where each row's tokens are: offsets, nulls and lengths of a token column, read without touching a token."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from headrace.formats.faults import BadRowError, CorruptError
from headrace.formats.ipc.batches import ELEMENT_VALIDITY, OFFSETS, VALIDITY, VALUES, Batches
from headrace.formats.ipc.flatbuffer import Positions, gather
from headrace.formats.ipc.headers import signed_at
from headrace.formats.ipc.schema import Layout, TokenColumn
from headrace.kernels import compiled

_NULL, _FLAT, _FIXED, _OFFSETS = range(4)
_KINDS = {
    Layout.NULL: _NULL,
    Layout.FLAT: _FLAT,
    Layout.FIXED_SIZE_LIST: _FIXED,
    Layout.LIST: _OFFSETS,
    Layout.LARGE_LIST: _OFFSETS,
}
OFFSET_BYTES = {Layout.LIST: 4, Layout.LARGE_LIST: 8}


@dataclass(frozen=True, slots=True)
class Rows:
    """Rows of a token column, all arrays (num_rows,).

    `batch` (int64) is the row's record batch and `row_in_batch` (int64) its place there, `starts` (int64) the byte of
    `Batches.memory` where its tokens start, `lengths` (int64) its tokens, 0 for empty and null rows, which `is_null`
    (bool) tells apart.
    """

    batch: Positions
    row_in_batch: Positions
    starts: Positions
    lengths: Positions
    is_null: npt.NDArray[np.bool_]


def count_rows(column: TokenColumn, batches: Batches) -> Positions:
    """The rows of each batch, int64 (n,): in the flat layout a row is a record batch."""
    return np.ones_like(batches.num_rows) if column.layout is Layout.FLAT else batches.num_rows


def read_rows(column: TokenColumn, batches: Batches, skip: int = 0, take: int | None = None) -> Rows:
    """Rows `skip` to `skip + take` (by default all from `skip`) of `batches`, counted from their first row.

    Raises BadRowError for a row with null elements or impossible offsets, and
    CorruptError for a batch whose buffers are too short.
    """
    _check_buffers(column, batches)
    total = int(count_rows(column, batches).sum())
    stop = total if take is None else skip + take
    if stop > total:
        raise CorruptError(f"has {total - skip} rows where {stop - skip} are expected")
    batch, row_in_batch, starts, lengths = np.empty((4, stop - skip), np.int64)
    is_null = np.empty(stop - skip, np.bool_)
    bad = _find_rows(
        batches.memory,
        _KINDS[column.layout],
        OFFSET_BYTES.get(column.layout, column.list_size),
        column.dtype.itemsize,
        batches.num_rows,
        batches.num_elements,
        batches.num_nulls,
        batches.positions,
        batches.sizes,
        skip,
        batch,
        row_in_batch,
        starts,
        lengths,
        is_null,
    )
    if bad >= 0:
        begin, end, elements = starts[bad], lengths[bad], batches.num_elements[batch[bad]]
        raise BadRowError(bad, f"has list offsets {begin} to {end} in a batch of {elements} elements")
    _check_elements(column, batches, batch, starts, lengths)
    return Rows(batch, row_in_batch, starts, lengths, is_null)


@compiled
def _find_rows(
    memory: Any,
    kind: int,
    width: int,
    item: int,
    num_rows: Any,
    num_elements: Positions,
    num_nulls: Positions,
    positions: Positions,
    sizes: Positions,
    skip: int,
    batch: Positions,
    row_in_batch: Positions,
    starts: Positions,
    lengths: Positions,
    is_null: npt.NDArray[np.bool_],
) -> int:
    """Fill the columns of `Rows`; returns −1, or the first row whose bounds are impossible.

    `width` is the bytes of an offset or, where there are none, the length of every list. Of an impossible row,
    `starts` and `lengths` hold the bounds that it has.
    """
    at = 0
    row: Any = np.int64(-skip)
    for b in range(num_rows.shape[0]):
        in_batch: Any = 1 if kind == _FLAT else num_rows[b]
        has_bitmap = kind >= _FIXED and num_nulls[b] != 0 and sizes[b, VALIDITY] > 0
        offsets = positions[b, OFFSETS]
        for r in range(max(0, -row), min(in_batch, lengths.shape[0] - row)):
            begin: Any = np.int64(0)
            end: Any = np.int64(0)
            if kind == _FLAT:
                end = num_rows[b]
            elif kind == _FIXED:
                begin, end = r * width, (r + 1) * width
            elif kind == _OFFSETS:
                begin = signed_at(memory, offsets + r * width, width)
                end = signed_at(memory, offsets + (r + 1) * width, width)
            empty = kind == _NULL or (has_bitmap and not memory[positions[b, VALIDITY] + (r >> 3)] >> (r & 7) & 1)
            batch[at], row_in_batch[at], is_null[at] = b, r, empty
            if begin < 0 or end < begin or end > num_elements[b]:
                starts[at], lengths[at] = begin, end
                return at
            starts[at] = positions[b, VALUES] + begin * item
            lengths[at] = 0 if empty else end - begin
            at += 1
        row += in_batch
    return -1


def _check_buffers(column: TokenColumn, batches: Batches) -> None:
    """Refuses buffers too short for what the headers say, before anything is allocated by it."""
    width = OFFSET_BYTES.get(column.layout, 0)
    batch, slot, needed = _find_short(batches.num_rows, batches.num_elements, batches.sizes, width)
    if batch >= 0:
        raise CorruptError(f"has a buffer of {batches.sizes[batch, slot]} bytes where {needed} are needed")
    if column.layout is Layout.FIXED_SIZE_LIST and (batches.num_rows * column.list_size > batches.num_elements).any():
        raise CorruptError(f"has a record batch with too few elements for lists of {column.list_size}")


@compiled
def _find_short(num_rows: Positions, num_elements: Positions, sizes: Positions, width: int) -> tuple[int, int, int]:
    """(batch, slot, bytes needed) of the first bitmap or offsets buffer that is too short, or −1 three times."""
    for b in range(num_rows.shape[0]):
        if 0 < sizes[b, VALIDITY] < (num_rows[b] + 7) // 8:
            return b, VALIDITY, (num_rows[b] + 7) // 8
        if 0 < sizes[b, ELEMENT_VALIDITY] < (num_elements[b] + 7) // 8:
            return b, ELEMENT_VALIDITY, (num_elements[b] + 7) // 8
        if width > 0 and num_rows[b] > 0 and sizes[b, OFFSETS] < (num_rows[b] + 1) * width:
            return b, OFFSETS, (num_rows[b] + 1) * width
    return -1, -1, -1


def _check_elements(
    column: TokenColumn, batches: Batches, batch: Positions, starts: Positions, lengths: Positions
) -> None:
    """Refuses null elements inside documents; behind null rows, or outside all rows, they do no harm."""
    if not column.has_elements:
        has_null = lengths > 0
    elif not batches.num_element_nulls.any():
        return
    else:
        has_null = np.zeros(len(lengths), np.bool_)
        for suspect in np.flatnonzero((batches.num_element_nulls != 0) & (batches.sizes[:, ELEMENT_VALIDITY] > 0)):
            rows = np.flatnonzero((batch == suspect) & (lengths > 0))
            nulls = _null_elements(batches, int(suspect))
            begin = (starts[rows] - batches.positions[suspect, VALUES]) // column.dtype.itemsize
            has_null[rows] = np.searchsorted(nulls, begin + lengths[rows]) > np.searchsorted(nulls, begin)
    if has_null.any():
        raise BadRowError(int(np.argmax(has_null)), "has a null among its tokens; tokens must not be null")


def _null_elements(batches: Batches, batch: int) -> Positions:
    """The null elements of one batch, increasing, int64 (num_nulls,)."""
    num_elements = int(batches.num_elements[batch])
    position = int(batches.positions[batch, ELEMENT_VALIDITY])
    bitmap = batches.memory[position : position + (num_elements + 7) // 8]
    return np.flatnonzero(np.unpackbits(bitmap, count=num_elements, bitorder="little") == 0)


def read_tokens(column: TokenColumn, batches: Batches, rows: Rows) -> tuple[npt.NDArray[np.integer], Positions, bool]:
    """Tokens, the start of each row in them (int64 (num_rows,), in tokens) and whether they were copied.

    One view over all of `batches.memory` where every row is aligned to the token's size there, a copy of the rows
    otherwise.
    """
    item = column.dtype.itemsize
    if column.has_elements:
        _check_values(batches, item)
    memory = batches.memory
    starts = np.empty(len(rows.starts), np.int64)
    if _in_tokens(rows.starts, rows.lengths, item, starts):
        return memory[: memory.size - memory.size % item].view(column.dtype), starts, False
    starts = np.where(rows.lengths > 0, rows.starts, 0)
    ends = np.cumsum(rows.lengths)
    at = np.repeat(starts - (ends - rows.lengths) * item, rows.lengths) + np.arange(ends[-1]) * item
    return gather(memory, at, column.dtype), ends - rows.lengths, True  # type: ignore[return-value]  # integers by dtype


def _check_values(batches: Batches, item: int) -> None:
    short = batches.sizes[:, VALUES] < batches.num_elements * item
    if short.any():
        batch = int(np.argmax(short))
        needed = batches.num_elements[batch] * item
        raise CorruptError(f"has a buffer of {batches.sizes[batch, VALUES]} bytes where {needed} are needed")


@compiled
def _in_tokens(starts: Positions, lengths: Positions, item: int, out: Positions) -> bool:
    """Write `starts`, in bytes, as tokens of `item` bytes; false where a row that is not empty is not aligned."""
    for i in range(starts.shape[0]):
        start = starts[i] if lengths[i] > 0 else 0
        if start % item:
            return False
        out[i] = start // item
    return True
