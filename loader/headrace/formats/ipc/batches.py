"""Where the token column's buffers are in each of many record batches, decompressed where they must be."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final, Literal

import numpy as np
import numpy.typing as npt

from headrace.formats.faults import CorruptError
from headrace.formats.ipc.flatbuffer import INT64, Memory, Positions, read
from headrace.formats.ipc.headers import read_headers
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

    def in_memory(self) -> Batches:
        """The same, said to be in memory of their own."""
        return replace(self, is_decoded=True)


def locate(
    memory: Memory,
    column: TokenColumn,
    messages: Messages,
    *,
    bodies: Positions | None = None,
    size_bytes: int | None = None,
) -> Batches:
    """Reads the headers of `messages`; raises CorruptError where one is damaged or points outside the file.

    Where `memory` holds the headers alone, `bodies`, int64 (n,), are the bytes of the file, of `size_bytes`, where the
    messages' bodies start; positions are then bytes of the file.
    """
    slots = _SLOTS[column.layout] if column.has_elements else _SLOTS[column.layout][:-2]
    num = len(messages)
    counts, codec = np.empty((num, 4), np.int64), np.empty(num, np.int64)
    positions, sizes = np.zeros((2, num, 4), np.int64)
    read_headers(
        memory,
        messages.offsets,
        messages.bodies if bodies is None else bodies,
        memory.size if size_bytes is None else size_bytes,
        column.node,
        1 + column.is_nested,
        column.buffer,
        column.views,
        np.array(slots, np.int64),
        counts,
        positions,
        sizes,
        codec,
    )
    num_rows, num_nulls, num_elements, num_element_nulls = counts.T
    return Batches(memory, num_rows, num_elements, num_nulls, num_element_nulls, positions, sizes, codec)


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
