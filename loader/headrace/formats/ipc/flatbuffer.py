"""Flatbuffers as Arrow uses them, one table at a time. Record batches, of which there are many: `headers`.

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
