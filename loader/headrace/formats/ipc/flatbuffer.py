"""Flatbuffers as Arrow uses them: one table at a time (`Table`), or the same field of many tables at once (`Tables`).

Every position is checked against the buffer before it is read, so damaged metadata raises `CorruptError` and nothing
else. The encoding: https://flatbuffers.dev/internals (a table starts with a signed offset back to its vtable; a
vtable holds its own size, the table's size and one 16-bit offset a field; zero means absent).
"""

from __future__ import annotations

import struct
from struct import Struct
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from headrace.formats.faults import CorruptError

Memory: TypeAlias = npt.NDArray[np.uint8]
Positions: TypeAlias = npt.NDArray[np.int64]
Encoded: TypeAlias = bytes | memoryview

BOOL, INT8, UINT16, INT16 = Struct("<?"), Struct("<b"), Struct("<H"), Struct("<h")
UINT32, INT32, INT64 = Struct("<I"), Struct("<i"), Struct("<q")


def read(buffer: Encoded, position: int, codec: Struct) -> int:
    """The number at `position` bytes into `buffer`; raises CorruptError outside it."""
    if position < 0:
        raise CorruptError(f"metadata points to byte {position}, before the start")
    try:
        return int(codec.unpack_from(buffer, position)[0])
    except struct.error as error:
        raise CorruptError(f"metadata points to byte {position} of {len(buffer)}") from error


class Table:
    """The table at `position` bytes into `buffer`."""

    __slots__ = ("_buffer", "_position", "_vtable", "_vtable_bytes")

    def __init__(self, buffer: Encoded, position: int) -> None:
        self._buffer = buffer
        self._position = position
        self._vtable = position - read(buffer, position, INT32)
        self._vtable_bytes = read(buffer, self._vtable, UINT16)

    @classmethod
    def root(cls, buffer: Encoded, position: int = 0) -> Table:
        """The table that the flatbuffer starting at `position` is about."""
        return cls(buffer, position + read(buffer, position, UINT32))

    def _field(self, field: int) -> int:
        entry = 4 + 2 * field
        offset = read(self._buffer, self._vtable + entry, UINT16) if entry < self._vtable_bytes else 0
        return self._position + offset if offset else 0

    def _target(self, field: int) -> int:
        position = self._field(field)
        return position + read(self._buffer, position, UINT32) if position else 0

    def number(self, field: int, codec: Struct, default: int = 0) -> int:
        """Scalar field number `field`, or `default` where it is absent."""
        position = self._field(field)
        return read(self._buffer, position, codec) if position else default

    def table(self, field: int) -> Table | None:
        """The table that field number `field` points to."""
        position = self._target(field)
        return Table(self._buffer, position) if position else None

    def text(self, field: int) -> str | None:
        """The string in field number `field`; bytes that are not UTF-8 are replaced."""
        start, length = self.vector(field)
        return bytes(self._buffer[start : start + length]).decode(errors="replace") if start else None

    def vector(self, field: int, item_bytes: int = 1) -> tuple[int, int]:
        """Where the vector in field number `field` starts, and its length in items; (0, 0) where it is absent."""
        position = self._target(field)
        if not position:
            return 0, 0
        length = read(self._buffer, position, UINT32)
        if position + 4 + length * item_bytes > len(self._buffer):
            raise CorruptError(f"metadata has a vector of {length} items at byte {position} of {len(self._buffer)}")
        return position + 4, length

    def tables(self, field: int) -> list[Table]:
        """The tables of the vector in field number `field`."""
        start, length = self.vector(field, 4)
        positions = range(start, start + 4 * length, 4)
        return [Table(self._buffer, position + read(self._buffer, position, UINT32)) for position in positions]


def gather(memory: Memory, positions: Positions, dtype: npt.DTypeLike) -> npt.NDArray[np.generic]:
    """The numbers of type `dtype` at byte `positions` (n,) of `memory`, as (n,); raises CorruptError outside it."""
    item = np.dtype(dtype)
    if positions.size == 0:
        return np.empty(0, item)
    if positions.min() < 0 or positions.max() + item.itemsize > memory.size:
        raise CorruptError(f"it points to bytes {positions.min()} to {positions.max()} of {memory.size}")
    if (positions % item.itemsize).any():
        return np.ascontiguousarray(memory[positions[:, None] + np.arange(item.itemsize)]).view(item)[:, 0]
    whole = memory[: memory.size - memory.size % item.itemsize].view(item)
    return whole[positions // item.itemsize]


def gather_int64(memory: Memory, positions: Positions, dtype: npt.DTypeLike) -> Positions:
    """`gather`, widened to int64."""
    return gather(memory, positions, dtype).astype(np.int64)


class Tables:
    """Tables of one kind at `positions` (n,) of `memory`: each method is `Table`'s, for all of them at once."""

    __slots__ = ("_memory", "_positions", "_vtable_bytes", "_vtables")

    def __init__(self, memory: Memory, positions: Positions) -> None:
        self._memory = memory
        self._positions = positions
        self._vtables = positions - gather_int64(memory, positions, "<i4")
        self._vtable_bytes = gather_int64(memory, self._vtables, "<u2")

    @classmethod
    def roots(cls, memory: Memory, positions: Positions) -> Tables:
        """The tables that the flatbuffers starting at `positions` are about."""
        return cls(memory, positions + gather_int64(memory, positions, "<u4"))

    def where(self, mask: npt.NDArray[np.bool_]) -> Tables:
        """Those of them where `mask`, bool (n,), is true."""
        return Tables(self._memory, self._positions[mask])

    def _fields(self, field: int) -> Positions:
        entry = 4 + 2 * field
        known = entry < self._vtable_bytes
        # A vtable too short for the field is asked for its own size instead, and the answer dropped.
        offsets = gather_int64(self._memory, self._vtables + np.where(known, entry, 0), "<u2")
        return np.where(known & (offsets > 0), self._positions + offsets, 0)

    def numbers(self, field: int, dtype: npt.DTypeLike, default: int = 0) -> Positions:
        """Scalar field number `field` of each, int64 (n,), `default` where absent."""
        positions = self._fields(field)
        return np.where(positions > 0, gather_int64(self._memory, positions, dtype), default)

    def present(self, field: int) -> npt.NDArray[np.bool_]:
        """Which of them have field number `field`, bool (n,)."""
        return self._fields(field) > 0

    def tables(self, field: int) -> Tables:
        """The tables that field number `field` points to; raises CorruptError where one is absent."""
        return Tables(self._memory, self._targets(field))

    def vectors(self, field: int) -> tuple[Positions, Positions]:
        """Where the vector in field number `field` of each starts, and its length in items; both int64 (n,)."""
        positions = self._targets(field)
        return positions + 4, gather_int64(self._memory, positions, "<u4")

    def _targets(self, field: int) -> Positions:
        positions = self._fields(field)
        if not positions.all():
            raise CorruptError(f"metadata has a message without field {field}")
        return positions + gather_int64(self._memory, positions, "<u4")
