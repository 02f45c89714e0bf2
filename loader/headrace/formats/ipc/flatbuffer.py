"""Flatbuffers as Arrow uses them: one table at a time (`Table`), or the same field of many tables at once (`Tables`).

Every position is checked against the buffer before it is read, so damaged metadata raises `CorruptError` and nothing
else. The encoding: https://flatbuffers.dev/internals (a table starts with a signed offset back to its vtable; a
vtable holds its own size, the table's size and one 16-bit offset a field; zero means absent).
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
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

    __slots__ = ("_buffer", "_offsets", "_position")

    def __init__(self, buffer: Encoded, position: int) -> None:
        self._buffer = buffer
        self._position = position
        vtable = position - read(buffer, position, INT32)
        size = read(buffer, vtable, UINT16)
        if size < 4 or vtable + size > len(buffer):
            raise CorruptError(f"has a vtable of {size} bytes at byte {vtable} of {len(buffer)}")
        self._offsets: tuple[int, ...] = struct.unpack_from(f"<{size // 2 - 2}H", buffer, vtable + 4)

    @classmethod
    def root(cls, buffer: Encoded, position: int = 0) -> Table:
        """The table that the flatbuffer starting at `position` is about."""
        return cls(buffer, position + read(buffer, position, UINT32))

    def _field(self, field: int) -> int:
        offset = self._offsets[field] if field < len(self._offsets) else 0
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
    """The numbers of type `dtype` at byte `positions` of `memory`, in their shape; raises CorruptError outside it."""
    item = np.dtype(dtype)
    if positions.size == 0:
        return np.empty(positions.shape, item)
    # As unsigned numbers, positions before the start are far beyond the end.
    last = int(np.maximum.reduce(positions.astype(np.uint64), axis=None))
    if last + item.itemsize > memory.size:
        raise CorruptError(f"points to byte {positions.min()} or {positions.max()} of {memory.size}")
    if int(np.bitwise_or.reduce(positions, axis=None)) & (item.itemsize - 1):
        return np.ascontiguousarray(memory[positions[..., None] + np.arange(item.itemsize)]).view(item)[..., 0]
    whole = memory[: memory.size - memory.size % item.itemsize].view(item)
    return whole[positions // item.itemsize]


def gather_int64(memory: Memory, positions: Positions, dtype: str) -> Positions:
    """`gather`, widened to int64."""
    return gather(memory, positions, dtype).astype(np.int64, copy=False)


@dataclass(frozen=True, slots=True)
class Tables:
    """Tables of one kind in `memory`; `fields` is int64 (n, num_fields), the byte of each field or 0 for none."""

    memory: Memory
    fields: Positions

    @classmethod
    def at(cls, memory: Memory, positions: Positions, num_fields: int) -> Tables:
        """The tables at `positions` (n,), with the first `num_fields` of their fields."""
        vtables = positions - gather_int64(memory, positions, "<i4")
        places = 2 * np.arange(num_fields + 2)
        # A short vtable may end where the memory does; what lies beyond it is not used.
        entries = gather_int64(memory, np.minimum(vtables[:, None] + places, memory.size - 2), "<u2")
        sizes, offsets = entries[:, :1], entries[:, 2:]
        if (vtables + entries[:, 0] > memory.size).any():
            raise CorruptError("has a vtable outside the file")
        return cls(memory, np.where((places[2:] < sizes) & (offsets > 0), positions[:, None] + offsets, 0))

    @classmethod
    def roots(cls, memory: Memory, positions: Positions, num_fields: int) -> Tables:
        """The tables that the flatbuffers starting at `positions` are about."""
        return cls.at(memory, positions + gather_int64(memory, positions, "<u4"), num_fields)

    def where(self, mask: npt.NDArray[np.bool_]) -> Tables:
        """Those of them where `mask`, bool (n,), is true."""
        return Tables(self.memory, self.fields[mask])

    def present(self, field: int) -> npt.NDArray[np.bool_]:
        """Which of them have field number `field`, bool (n,)."""
        return self.fields[:, field] > 0

    def numbers(self, field: int, dtype: str, default: int = 0) -> Positions:
        """Scalar field number `field` of each, int64 (n,), `default` where absent."""
        positions = self.fields[:, field]
        return np.where(positions > 0, gather_int64(self.memory, positions, dtype), default)

    def tables(self, field: int, num_fields: int) -> Tables:
        """The tables that field number `field` of each points to; raises CorruptError where one is absent."""
        return Tables.at(self.memory, self._targets((field,))[:, 0], num_fields)

    def vectors(self, *fields: int) -> tuple[Positions, Positions]:
        """Where the vectors in `fields` of each start, and their lengths in items; both int64 (n, len(fields))."""
        positions = self._targets(fields)
        return positions + 4, gather_int64(self.memory, positions, "<u4")

    def _targets(self, fields: tuple[int, ...]) -> Positions:
        positions = self.fields[:, fields]
        if not positions.all():
            raise CorruptError(f"has a message without one of the fields {fields}")
        return positions + gather_int64(self.memory, positions, "<u4")
