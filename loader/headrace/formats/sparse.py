"""Parts of a shard on object storage, gathered into memory as if they were the whole.

What lies close together is read at once; each part keeps its alignment, and positions are moved to where it went.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Final

import numpy as np
import numpy.typing as npt

from headrace.formats.ipc.batches import ELEMENT_VALIDITY, OFFSETS, VALIDITY, VALUES, Batches, locate
from headrace.formats.ipc.documents import OFFSET_BYTES, Rows, count_rows, read_rows
from headrace.formats.ipc.flatbuffer import Encoded, Memory, Positions
from headrace.formats.ipc.messages import Messages
from headrace.formats.ipc.schema import TokenColumn
from headrace.places import File

_GAP_BYTES: Final = 1 << 16
_ALIGNMENT: Final = 64
_AT_ONCE: Final = 8
_PEEK_BYTES: Final = 1 << 18


def fetch(file: File, starts: Positions, sizes: Positions) -> tuple[Memory, Positions]:
    """Bytes that hold these ranges of the file, and where each range starts in them; both arguments int64 (n,)."""
    if len(starts) == 0:
        return np.empty(0, np.uint8), starts
    order = np.argsort(starts, kind="stable")
    begins, ends = starts[order], np.maximum.accumulate((starts + sizes)[order])
    is_first = np.concatenate(([True], begins[1:] > ends[:-1] + _GAP_BYTES))
    firsts = np.flatnonzero(is_first)
    piece_starts = begins[firsts]
    piece_ends = ends[np.append(firsts[1:], len(begins)) - 1]
    # Each piece keeps its place modulo the alignment.
    lead = piece_starts % _ALIGNMENT
    room = lead + piece_ends - piece_starts
    room += -room % _ALIGNMENT
    places = np.cumsum(room) - room + lead
    memory = np.zeros(int(room.sum()), np.uint8)
    for place, part in zip(places.tolist(), _read(file, piece_starts, piece_ends - piece_starts), strict=True):
        memory[place : place + part.size] = part
    moved = np.empty_like(starts)
    moved[order] = begins + (places - piece_starts)[np.cumsum(is_first) - 1]
    return memory, moved


def _read(file: File, starts: Positions, sizes: Positions) -> list[Memory]:
    ranges = list(zip(starts.tolist(), sizes.tolist(), strict=True))
    if len(ranges) <= _AT_ONCE:
        return file.read_ranges(ranges)
    parts = [ranges[first::_AT_ONCE] for first in range(_AT_ONCE)]
    with ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="headrace-count") as pool:
        read = list(pool.map(file.read_ranges, parts))
    return [read[number % _AT_ONCE][number // _AT_ONCE] for number in range(len(ranges))]


def peeking(file: File, start: int, end: int) -> Callable[[int, int], Encoded]:
    """A view of the bytes start ≤ byte < end that reads ahead a little; for callers that go forward."""
    held_at, held = start, np.empty(0, np.uint8)

    def view(at: int, size: int) -> Encoded:
        nonlocal held_at, held
        size = max(0, min(size, end - at))
        if not held_at <= at <= at + size <= held_at + held.size:
            held_at, held = at, file.read(at, max(size, min(_PEEK_BYTES, end - at)))
        return held[at - held_at : at - held_at + size].data

    return view


def locate_remote(file: File, column: TokenColumn, messages: Messages) -> Batches:
    """`locate` by reading the headers alone; positions are bytes of the file."""
    memory, at = fetch(file, messages.offsets, messages.blocks["metadata_bytes"].astype(np.int64))
    moved = messages.blocks.copy()
    moved["offset"] = at
    return locate(memory, column, Messages(moved), bodies=messages.bodies, size_bytes=file.size_bytes)


def load_buffers(file: File, batches: Batches, slots: tuple[int, ...]) -> Batches:
    """The batches with their buffers of `slots` in memory, whole; bitmaps that mark nothing are left out."""
    sizes = batches.sizes.copy()
    sizes[batches.num_nulls == 0, VALIDITY] = 0
    sizes[batches.num_element_nulls == 0, ELEMENT_VALIDITY] = 0
    where = np.zeros(sizes.shape, np.bool_)
    where[:, slots] = sizes[:, slots] > 0
    memory, at = fetch(file, batches.positions[where], sizes[where])
    positions = batches.positions.copy()
    positions[where] = at
    return replace(batches, memory=memory, positions=positions, sizes=sizes, is_decoded=True)


def load_rows(file: File, column: TokenColumn, batches: Batches, skip: int, take: int) -> tuple[Batches, Rows]:
    """Rows `skip` to `skip + take` of plain `batches`, with just their tokens in memory."""
    rows = read_rows(column, _row_bounds(file, column, batches, skip, take), skip, take)
    used = np.flatnonzero(rows.lengths > 0)
    # Until here `starts` are bytes of the file.
    of, starts = rows.batch[used], rows.starts[used]
    ends = starts + rows.lengths[used] * column.dtype.itemsize
    numbers, which = np.unique(of, return_inverse=True)
    low, high = np.full(len(numbers), np.iinfo(np.int64).max), np.zeros(len(numbers), np.int64)
    np.minimum.at(low, which, starts)
    np.maximum.at(high, which, ends)
    memory, at = fetch(file, low, high - low)
    moved = rows.starts.copy()
    moved[used] += (at - low)[which]
    return replace(batches, memory=memory, is_decoded=True), replace(rows, starts=moved)


def _row_bounds(file: File, column: TokenColumn, batches: Batches, skip: int, take: int) -> Batches:
    """The batches with the parts of their bitmaps and offsets in memory that these rows need.

    Positions are where the whole buffer would start, which may lie before the memory.
    """
    in_batch = count_rows(column, batches)
    before = np.cumsum(in_batch) - in_batch
    first = np.clip(skip - before, 0, in_batch)
    last = np.clip(skip + take - before, 0, in_batch)
    begin, end = np.zeros_like(batches.sizes), np.zeros_like(batches.sizes)
    begin[:, VALIDITY], end[:, VALIDITY] = first // 8, (last + 7) // 8
    width = OFFSET_BYTES.get(column.layout, 0)
    begin[:, OFFSETS], end[:, OFFSETS] = first * width, (last + 1) * width
    end[:, ELEMENT_VALIDITY] = batches.sizes[:, ELEMENT_VALIDITY]
    sizes = batches.sizes.copy()
    sizes[batches.num_nulls == 0, VALIDITY] = 0
    sizes[batches.num_element_nulls == 0, ELEMENT_VALIDITY] = 0
    end = np.minimum(end, sizes)
    where: npt.NDArray[np.bool_] = (end > begin) & (last > first)[:, None]
    where[:, VALUES] = False
    memory, at = fetch(file, (batches.positions + begin)[where], (end - begin)[where])
    positions = batches.positions.copy()
    positions[where] = at - begin[where]
    return replace(batches, memory=memory, positions=positions, sizes=sizes)
