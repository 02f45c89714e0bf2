"""The header of one record batch, read from its flatbuffer: compiled, as a block may span thousands of them.

Every position is checked before it is read, so that damaged metadata raises `CorruptError` and nothing else. The
encoding: https://flatbuffers.dev/internals (a table starts with a signed offset back to its vtable; a vtable holds its
own size, the table's size and one 16-bit offset a field; zero means absent).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from headrace.formats.faults import CorruptError
from headrace.kernels import compiled

Int64s = npt.NDArray[np.int64]

_RECORD_BATCH = 3
_CONTINUATION = 0xFFFFFFFF
_MAX_ROWS = (1 << 31) - 1
_MAX_ELEMENTS = 1 << 48
_PLAIN = -1


@compiled
def unsigned_at(memory: Any, position: Any, size: int) -> Any:
    """The little-endian number of `size` bytes, at most 7, at `position`."""
    if position < 0 or position > memory.shape[0] - size:
        raise CorruptError("points to a byte outside the file")
    value = np.int64(0)
    for i in range(size):
        value |= np.int64(memory[position + i]) << (8 * i)
    return value


@compiled
def signed_at(memory: Any, position: Any, size: int) -> Any:
    """The same with a sign, of at most 8 bytes."""
    low = unsigned_at(memory, position, size - 1)
    high = unsigned_at(memory, position + size - 1, 1)
    return low | ((high - ((high & 0x80) << 1)) << (8 * (size - 1)))


@compiled
def field_at(memory: Any, table: Any, number: int) -> Any:
    """Where field `number` of the table at `table` is, or 0."""
    vtable = table - signed_at(memory, table, 4)
    size = unsigned_at(memory, vtable, 2)
    if vtable + size > memory.shape[0]:
        raise CorruptError("has a vtable outside the file")
    offset = np.int64(0) if 4 + 2 * number >= size else unsigned_at(memory, vtable + 4 + 2 * number, 2)
    return table + offset if offset > 0 else np.int64(0)


@compiled
def _target(memory: Any, table: Any, number: int) -> Any:
    """What field `number` of the table at `table` points to."""
    field = field_at(memory, table, number)
    if field == 0:
        raise CorruptError("has a message without one of its fields")
    return field + unsigned_at(memory, field, 4)


@compiled
def _header(memory: Any, message: Any) -> Any:
    """The record batch table of the message at byte `message`."""
    begin = message + (8 if unsigned_at(memory, message, 4) == _CONTINUATION else 4)
    root = begin + unsigned_at(memory, begin, 4)
    kind = field_at(memory, root, 1)
    if kind == 0 or unsigned_at(memory, kind, 1) != _RECORD_BATCH:
        raise CorruptError("has a message that is no record batch where its footer says there is one")
    return _target(memory, root, 2)


@compiled
def _num_variadic(memory: Any, header: Any, views: int) -> Any:
    """How many buffers the first `views` view columns have beyond their fixed ones."""
    total = np.int64(0)
    if views > 0:
        counts = _target(memory, header, 4)
        if unsigned_at(memory, counts, 4) < views:
            raise CorruptError("has a record batch without the buffer counts of its view columns")
        for view in range(views):
            total += signed_at(memory, counts + 4 + 8 * view, 8)
    return total


@compiled
def _codec(memory: Any, header: Any) -> Any:
    """The number of the codec that the buffers are compressed with, or −1."""
    if field_at(memory, header, 3) == 0:
        return np.int64(_PLAIN)
    codec = field_at(memory, _target(memory, header, 3), 0)
    return np.int64(0) if codec == 0 else signed_at(memory, codec, 1)


@compiled
def read_headers(
    memory: Any,
    messages: Int64s,
    bodies: Int64s,
    size_bytes: int,
    node: int,
    num_nodes: int,
    buffer: int,
    views: int,
    slots: Int64s,
    counts: Int64s,
    positions: Int64s,
    sizes: Int64s,
    codecs: Int64s,
) -> None:
    """Read where a column's buffers are in each of some record batches.

    Args:
        memory: uint8, the bytes that `messages` count along.
        messages: int64 (n,), where each message starts.
        bodies: int64 (n,), where its body starts, in a file of `size_bytes`, of which `memory` may hold the headers
            alone.
        size_bytes: see `bodies`.
        node: the column's first node.
        num_nodes: its nodes, 1 or 2.
        buffer: its first buffer, those of view columns before it not counted.
        views: view columns before it.
        slots: int64 (m,), into which of four columns of `positions` and `sizes` its buffers go.
        counts: int64 (n, 4), written: rows, null rows, elements, null elements; of one node, its own twice.
        positions: int64 (n, 4), of zeros, written: the byte where each buffer starts.
        sizes: int64 (n, 4), of zeros, written: its bytes.
        codecs: int64 (n,), written: −1 where the buffers are plain.

    Raises:
        CorruptError: a damaged header, or one that points outside of the file.
    """
    for i in range(messages.shape[0]):
        header = _header(memory, messages[i])
        nodes, buffers = _target(memory, header, 1), _target(memory, header, 2)
        if unsigned_at(memory, nodes, 4) < node + num_nodes:
            raise CorruptError("has a record batch with fewer columns than the schema")
        for word in range(4):
            at = nodes + 4 + 16 * (node + (num_nodes - 1) * (word // 2)) + 8 * (word % 2)
            counts[i, word] = signed_at(memory, at, 8)
            if not 0 <= counts[i, word] <= _MAX_ELEMENTS or counts[i, 0] > _MAX_ROWS:
                raise CorruptError("has a record batch with an impossible length; at most 2147483647 rows are allowed")
        first = buffer + _num_variadic(memory, header, views)
        if first < 0 or first > unsigned_at(memory, buffers, 4) - slots.shape[0]:
            raise CorruptError("has a record batch with fewer buffers than the schema")
        for j in range(slots.shape[0]):
            at = buffers + 4 + 16 * (first + j)
            position, size = bodies[i] + signed_at(memory, at, 8), signed_at(memory, at + 8, 8)
            if size != 0 and (size < 0 or position < 0 or size > size_bytes - position):
                raise CorruptError("has a record batch whose data lies outside the file")
            positions[i, slots[j]] = position
            sizes[i, slots[j]] = size
        codecs[i] = _codec(memory, header)
