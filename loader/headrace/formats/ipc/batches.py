"""Where the token column's buffers are in each of many record batches, decompressed where they must be."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final, Literal

import numpy as np
import numpy.typing as npt

from headrace.formats.faults import CorruptError
from headrace.formats.ipc.flatbuffer import INT64, Memory, Positions, Tables, gather, gather_int64, read
from headrace.formats.ipc.messages import Messages
from headrace.formats.ipc.schema import Layout, TokenColumn

VALIDITY: Final = 0
OFFSETS: Final = 1
ELEMENT_VALIDITY: Final = 2
VALUES: Final = 3
WITHOUT_TOKENS: Final = (VALIDITY, OFFSETS, ELEMENT_VALIDITY)

# The slots of the column's buffers, in the order in which a record batch lists them.
_SLOTS: Final = {
    Layout.FLAT: (ELEMENT_VALIDITY, VALUES),
    Layout.LIST: (VALIDITY, OFFSETS, ELEMENT_VALIDITY, VALUES),
    Layout.LARGE_LIST: (VALIDITY, OFFSETS, ELEMENT_VALIDITY, VALUES),
    Layout.FIXED_SIZE_LIST: (VALIDITY, ELEMENT_VALIDITY, VALUES),
    Layout.NULL: (),
}
_UNCOMPRESSED: Final = -1
_CODECS: Final[dict[int, Literal["lz4", "zstd"]]] = {0: "lz4", 1: "zstd"}
_ALIGNMENT: Final = 64
_RECORD_BATCH: Final = 3
_MAX_ROWS: Final = (1 << 31) - 1
_MAX_ELEMENTS: Final = 1 << 48


@dataclass(frozen=True, slots=True)
class Batches:
    """The token column in n record batches.

    `num_rows`, `num_elements`, `num_nulls` and `num_element_nulls` are int64 (n,); `positions` and `sizes` are int64
    (n, 4), in bytes of `memory`, a column for each of VALIDITY, OFFSETS, ELEMENT_VALIDITY and VALUES, size 0 where
    there is none. `codec` is int64 (n,), -1 where the buffers are plain. `is_decoded` says that `memory` is not the
    file itself.
    """

    memory: Memory
    num_rows: Positions
    num_elements: Positions
    num_nulls: Positions
    num_element_nulls: Positions
    positions: Positions
    sizes: Positions
    codec: Positions
    is_decoded: bool = False

    @property
    def is_compressed(self) -> bool:
        """Whether any of the batches must be decoded before its buffers can be read."""
        return bool((self.codec != _UNCOMPRESSED).any())


def locate(memory: Memory, column: TokenColumn, messages: Messages) -> Batches:
    """Reads the headers of `messages`; raises CorruptError where one is damaged or points outside the file."""
    has_marker = gather(memory, messages.offsets, "<u4") == 0xFFFFFFFF
    roots = Tables.roots(memory, messages.offsets + np.where(has_marker, 8, 4), 3)
    if (roots.numbers(1, "<i1") != _RECORD_BATCH).any():
        raise CorruptError("has a message that is no record batch where its footer says there is one")
    headers = roots.tables(2, 5)
    (node, buffer), (num_nodes, num_buffers) = (both.T for both in headers.vectors(1, 2))
    num_own_nodes = 1 + column.is_nested
    if (num_nodes < column.node + num_own_nodes).any():
        raise CorruptError("has a record batch with fewer columns than the schema")
    words = _words(memory, node + 16 * column.node, 2 * num_own_nodes)
    num_rows, num_nulls, num_elements, num_element_nulls = words[:, 0], words[:, 1], words[:, -2], words[:, -1]
    if ((words < 0) | (words > _MAX_ELEMENTS)).any() or (num_rows > _MAX_ROWS).any():
        raise CorruptError(f"has a record batch with an impossible length; at most {_MAX_ROWS} rows are allowed")
    first = column.buffer + _num_variadic(memory, column, headers, len(messages))
    slots = _SLOTS[column.layout] if column.has_elements else _SLOTS[column.layout][:-2]
    if ((first < 0) | (first + len(slots) > num_buffers)).any():
        raise CorruptError("has a record batch with fewer buffers than the schema")
    positions, sizes = _buffers(memory, slots, buffer + 16 * first, messages.bodies)
    codec = _codecs(memory, headers, len(messages))
    return Batches(memory, num_rows, num_elements, num_nulls, num_element_nulls, positions, sizes, codec)


def _words(memory: Memory, positions: Positions, count: int) -> Positions:
    """`count` int64 words from each of `positions` (n,) on, as (n, count)."""
    return gather_int64(memory, positions[:, None] + 8 * np.arange(count), "<i8")


def _codecs(memory: Memory, headers: Tables, num_batches: int) -> Positions:
    codec = np.full(num_batches, _UNCOMPRESSED, np.int64)
    compressed = headers.present(3)
    if compressed.any():
        codec[compressed] = headers.where(compressed).tables(3, 1).numbers(0, "<i1")
    return codec


def _num_variadic(memory: Memory, column: TokenColumn, headers: Tables, num_batches: int) -> Positions:
    """How many buffers the view columns before the token column have beyond their fixed ones, int64 (n,)."""
    if column.views == 0 or num_batches == 0:
        return np.zeros(num_batches, np.int64)
    counts, num_counts = (vector[:, 0] for vector in headers.vectors(4))
    if (num_counts < column.views).any():
        raise CorruptError("has a record batch without the buffer counts of its view columns")
    totals: Positions = np.add.reduce(_words(memory, counts, column.views), axis=1)
    return totals


def _buffers(
    memory: Memory, slots: tuple[int, ...], descriptions: Positions, bodies: Positions
) -> tuple[Positions, Positions]:
    """Positions and sizes of the column's buffers, int64 (n, 4) each, from what the header has at `descriptions`."""
    words = _words(memory, descriptions, 2 * len(slots))
    positions = np.zeros((len(bodies), 4), np.int64)
    sizes = np.zeros((len(bodies), 4), np.int64)
    positions[:, slots] = bodies[:, None] + words[:, 0::2]
    sizes[:, slots] = words[:, 1::2]
    outside = (sizes < 0) | (positions < 0) | (sizes > memory.size - positions)
    if (outside & (sizes != 0)).any():
        raise CorruptError("has a record batch whose data lies outside the file")
    return positions, sizes


def select(batches: Batches, first: int, last: int) -> Batches:
    """The batches first ≤ i < last."""
    run = slice(first, last)
    return replace(
        batches,
        num_rows=batches.num_rows[run],
        num_elements=batches.num_elements[run],
        num_nulls=batches.num_nulls[run],
        num_element_nulls=batches.num_element_nulls[run],
        positions=batches.positions[run],
        sizes=batches.sizes[run],
        codec=batches.codec[run],
    )


def decode(batches: Batches, slots: tuple[int, ...]) -> Batches:
    """The same batches with the buffers in `slots` plain, in memory of their own; the other slots become empty."""
    positions = np.zeros_like(batches.positions)
    sizes = np.zeros_like(batches.sizes)
    parts: list[npt.NDArray[np.uint8]] = []
    end = 0
    for batch, slot in np.argwhere(batches.sizes > 0):
        if slot not in slots:
            continue
        part = _decode_buffer(batches, int(batch), int(slot))
        positions[batch, slot], sizes[batch, slot] = end, part.size
        padding = -part.size % _ALIGNMENT
        parts += [part, np.zeros(padding, np.uint8)]
        end += part.size + padding
    memory = np.concatenate(parts) if parts else np.empty(0, np.uint8)
    codec = np.full_like(batches.codec, _UNCOMPRESSED)
    return replace(batches, memory=memory, positions=positions, sizes=sizes, codec=codec, is_decoded=True)


def _decode_buffer(batches: Batches, batch: int, slot: int) -> npt.NDArray[np.uint8]:
    position, size = int(batches.positions[batch, slot]), int(batches.sizes[batch, slot])
    raw = batches.memory[position : position + size]
    codec = int(batches.codec[batch])
    if codec == _UNCOMPRESSED:
        return raw
    plain_bytes = read(raw.data, 0, INT64)
    if plain_bytes == -1:
        return raw[8:]
    return _decompress(raw[8:], plain_bytes, codec)


def _decompress(raw: npt.NDArray[np.uint8], plain_bytes: int, codec: int) -> npt.NDArray[np.uint8]:
    import pyarrow as pa  # noqa: PLC0415  # costs 60 ms, and only compressed files need it

    if codec not in _CODECS or plain_bytes < 0:
        raise CorruptError(f"has a buffer of {plain_bytes} bytes compressed with unknown codec {codec}")
    try:
        plain = pa.Codec(_CODECS[codec]).decompress(raw.data, plain_bytes, asbytes=True)
    except (OSError, pa.ArrowException, MemoryError) as error:
        raise CorruptError(f"has a {_CODECS[codec]} buffer that can't be decompressed ({error})") from error
    return np.frombuffer(plain, np.uint8)
