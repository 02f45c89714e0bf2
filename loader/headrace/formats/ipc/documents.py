"""Where each row's tokens are: offsets, nulls and lengths of a token column, read without touching a token."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from headrace.formats.faults import BadRowError, CorruptError
from headrace.formats.ipc.batches import ELEMENT_VALIDITY, OFFSETS, VALIDITY, VALUES, Batches
from headrace.formats.ipc.flatbuffer import Memory, Positions, gather, gather_int64
from headrace.formats.ipc.schema import Layout, TokenColumn


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
    rows_in_batch = count_rows(column, batches)
    total = int(rows_in_batch.sum())
    stop = total if take is None else skip + take
    if stop > total:
        raise CorruptError(f"has {total - skip} rows where {stop - skip} are expected")
    first_row = np.cumsum(rows_in_batch) - rows_in_batch
    batch = np.repeat(np.arange(len(rows_in_batch)), _clipped(rows_in_batch, first_row, skip, stop))
    row_in_batch = np.arange(skip, stop) - first_row[batch]
    is_null = _nulls(column, batches, batch, row_in_batch)
    begin, end = _bounds(column, batches, batch, row_in_batch)
    _check_bounds(begin, end, batches.num_elements[batch])
    lengths = np.where(is_null, 0, end - begin)
    _check_elements(column, batches, batch, begin, lengths)
    starts = batches.positions[batch, VALUES] + begin * column.dtype.itemsize
    return Rows(batch, row_in_batch, starts, lengths, is_null)


def _clipped(rows_in_batch: Positions, first_row: Positions, skip: int, stop: int) -> Positions:
    """How many of each batch's rows lie in skip ≤ row < stop."""
    first, last = np.maximum(first_row, skip), np.minimum(first_row + rows_in_batch, stop)
    return np.where(last > first, last - first, 0)


def _nulls(column: TokenColumn, batches: Batches, batch: Positions, row: Positions) -> npt.NDArray[np.bool_]:
    if column.layout is Layout.NULL:
        return np.ones(len(batch), np.bool_)
    is_null = np.zeros(len(batch), np.bool_)
    if column.layout is Layout.FLAT or not batches.num_nulls.any():
        return is_null
    has_bitmap = ((batches.sizes[:, VALIDITY] > 0) & (batches.num_nulls != 0))[batch]
    of = batch[has_bitmap]
    is_null[has_bitmap] = ~_bits(batches.memory, batches.positions[of, VALIDITY], row[has_bitmap])
    return is_null


def _bits(memory: Memory, bitmaps: Positions, index: Positions) -> npt.NDArray[np.bool_]:
    """Bit `index` of the bitmap at byte `bitmaps`, both (n,)."""
    bytes_ = gather_int64(memory, bitmaps + (index >> 3), "<u1")
    return ((bytes_ >> (index & 7)) & 1).astype(np.bool_)


def _bounds(column: TokenColumn, batches: Batches, batch: Positions, row: Positions) -> tuple[Positions, Positions]:
    """First element and the element after the last of each row, within its batch."""
    if column.layout is Layout.NULL:
        return np.zeros_like(row), np.zeros_like(row)
    if column.layout is Layout.FLAT:
        return np.zeros_like(row), batches.num_rows[batch]
    if column.layout is Layout.FIXED_SIZE_LIST:
        return row * column.list_size, (row + 1) * column.list_size
    width = _OFFSET_BYTES[column.layout]
    at = batches.positions[batch, OFFSETS] + row * width
    return gather_int64(batches.memory, at, f"<i{width}"), gather_int64(batches.memory, at + width, f"<i{width}")


_OFFSET_BYTES = {Layout.LIST: 4, Layout.LARGE_LIST: 8}


def _check_buffers(column: TokenColumn, batches: Batches) -> None:
    """Refuses buffers too short for what the headers say, before anything is allocated by it."""
    for slot, count in ((VALIDITY, batches.num_rows), (ELEMENT_VALIDITY, batches.num_elements)):
        _check_size(batches, slot, (count + 7) // 8, batches.sizes[:, slot] > 0)
    width = _OFFSET_BYTES.get(column.layout)
    if width is not None:
        _check_size(batches, OFFSETS, (batches.num_rows + 1) * width, batches.num_rows > 0)
    if column.layout is Layout.FIXED_SIZE_LIST and (batches.num_rows * column.list_size > batches.num_elements).any():
        raise CorruptError(f"has a record batch with too few elements for lists of {column.list_size}")


def _check_size(batches: Batches, slot: int, needed: Positions, where: npt.NDArray[np.bool_]) -> None:
    short = where & (batches.sizes[:, slot] < needed)
    if short.any():
        batch = int(np.argmax(short))
        raise CorruptError(f"has a buffer of {batches.sizes[batch, slot]} bytes where {needed[batch]} are needed")


def _check_bounds(begin: Positions, end: Positions, num_elements: Positions) -> None:
    wrong = (begin < 0) | (end < begin) | (end > num_elements)
    if wrong.any():
        row = int(np.argmax(wrong))
        raise BadRowError(
            row, f"has list offsets {begin[row]} to {end[row]} in a batch of {num_elements[row]} elements"
        )


def _check_elements(
    column: TokenColumn, batches: Batches, batch: Positions, begin: Positions, lengths: Positions
) -> None:
    """Refuses null elements inside documents; behind null rows, or outside all rows, they do no harm."""
    if not column.has_elements:
        has_null = lengths > 0
    else:
        has_null = np.zeros(len(lengths), np.bool_)
        for suspect in np.flatnonzero((batches.num_element_nulls != 0) & (batches.sizes[:, ELEMENT_VALIDITY] > 0)):
            rows = np.flatnonzero((batch == suspect) & (lengths > 0))
            nulls = _null_elements(batches, int(suspect))
            ends = np.searchsorted(nulls, begin[rows] + lengths[rows])
            has_null[rows] = ends > np.searchsorted(nulls, begin[rows])
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
    _check_size(batches, VALUES, batches.num_elements * item, np.full(len(batches.num_rows), column.has_elements))
    memory = batches.memory
    starts = np.where(rows.lengths > 0, rows.starts, 0)
    if not (starts % item).any():
        return memory[: memory.size - memory.size % item].view(column.dtype), starts // item, False
    ends = np.cumsum(rows.lengths)
    at = np.repeat(starts - (ends - rows.lengths) * item, rows.lengths) + np.arange(ends[-1]) * item
    return gather(memory, at, column.dtype), ends - rows.lengths, True  # type: ignore[return-value]  # integers by dtype
