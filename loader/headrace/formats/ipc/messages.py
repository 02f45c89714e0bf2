"""Where the record batches of an Arrow IPC file or stream are: from its footer, or message by message."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from headrace.formats.faults import CorruptError
from headrace.formats.ipc.flatbuffer import INT8, INT16, INT32, INT64, UINT32, Encoded, Memory, Positions, Table, read
from headrace.formats.ipc.schema import Schema

FILE_MAGIC = b"ARROW1"
_CONTINUATION = 0xFFFFFFFF
_SCHEMA, _RECORD_BATCH = 1, 3
_BLOCK = np.dtype([("offset", "<i8"), ("metadata_bytes", "<i4"), ("padding", "<i4"), ("body_bytes", "<i8")])
_TRAILER_BYTES = 10


@dataclass(frozen=True, slots=True)
class Messages:
    """The record batch messages of a file, as its footer lists them; `blocks` is (num_batches,) of the footer's Block.

    For a large footer it is a view of the mapped file: nothing is held a batch.
    """

    blocks: npt.NDArray[np.void]

    def __len__(self) -> int:
        return len(self.blocks)

    def run(self, first: int, last: int) -> Messages:
        """The messages first ≤ i < last."""
        return Messages(self.blocks[first:last])

    @property
    def offsets(self) -> Positions:
        """The byte where each message starts, int64 (num_batches,)."""
        offsets: Positions = self.blocks["offset"].astype(np.int64)
        return offsets

    @property
    def bodies(self) -> Positions:
        """The byte where each message's body starts, int64 (num_batches,)."""
        bodies: Positions = self.offsets + self.blocks["metadata_bytes"]
        return bodies


@dataclass(frozen=True, slots=True)
class Contents:
    """What a file or stream holds; `cut` says where it ends too early, None when it is whole."""

    schema: Schema
    messages: Messages
    cut: str | None = None


def footer_bytes(tail: bytes, size_bytes: int) -> int:
    """How many bytes at the end of a file of `size_bytes` are its footer, with the size and magic that follow it."""
    size = read(tail, len(tail) - _TRAILER_BYTES, INT32)
    if not 0 < size <= size_bytes - _TRAILER_BYTES - 8:
        raise CorruptError(f"says that its footer has {size} bytes")
    return size + _TRAILER_BYTES


def parse_footer(footer: Encoded) -> Contents:
    """The contents of a file whose last bytes, from its footer on, are `footer`."""
    root = Table.root(footer)
    schema_table = root.table(1)
    if schema_table is None:
        raise CorruptError("has no schema in its footer")
    schema = Schema.parse(schema_table, root.number(0, INT16))
    start, length = root.vector(3, _BLOCK.itemsize)
    return Contents(schema, Messages(np.frombuffer(footer, _BLOCK, length, start) if length else np.empty(0, _BLOCK)))


def is_stream(head: bytes) -> bool:
    """Whether a file that starts with these 8 bytes may be an Arrow IPC stream: a short message comes first."""
    if len(head) < 8:
        return False
    first = read(head, 0, UINT32)
    return 0 < (read(head, 4, UINT32) if first == _CONTINUATION else first) < 1 << 26


def walk(memory: Memory, start: int = 0) -> Contents:
    """The contents of the stream that begins at byte `start`, with or without an end marker.

    A stream that ends inside a message is reported as cut, with the record batches before the cut. Raises
    CorruptError when it has no schema, or when bytes follow the end marker of a stream that is the whole file.
    """
    schema: Schema | None = None
    blocks: list[tuple[int, int, int, int]] = []
    cut: str | None = None
    position = start
    data = memory.data
    while position < memory.size:
        metadata, length = _prefix(data, position)
        body = metadata + length
        if body > memory.size:
            cut = f"is cut inside the message at byte {position}: it ends at byte {memory.size}"
            break
        if length == 0:
            if start == 0:
                _check_nothing_follows(memory, metadata)
            break
        message = Table.root(data, metadata)
        end = body + message.number(3, INT64)
        if not position < body <= end:
            raise CorruptError(f"has a message of impossible size at byte {position}")
        if end > memory.size:
            cut = f"is cut inside the message at byte {position}: it ends at byte {memory.size} instead of {end}"
            break
        kind, header = message.number(1, INT8), message.table(2)
        if kind == _SCHEMA and header is not None:
            schema = Schema.parse(header, message.number(0, INT16))
        elif kind == _RECORD_BATCH:
            blocks.append((position, body - position, 0, end - body))
        position = end
    if schema is None:
        raise CorruptError(cut or "holds no schema message")
    return Contents(schema, Messages(np.array(blocks, _BLOCK)), cut)


def _prefix(data: memoryview, position: int) -> tuple[int, int]:
    """Where the metadata of the message at `position` starts and its length, which is past the end for a cut prefix."""
    if position + 4 > len(data):
        return position + 4, 1
    length = read(data, position, UINT32)
    if length != _CONTINUATION:
        return position + 4, length
    return position + 8, read(data, position + 4, UINT32) if position + 8 <= len(data) else 1


def _check_nothing_follows(memory: Memory, position: int) -> None:
    if memory.size > position:
        raise CorruptError(
            f"has {memory.size - position} bytes after its end marker at byte {position}; "
            "streams that were joined with cat must be written as one stream"
        )
