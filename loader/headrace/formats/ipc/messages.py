"""Where the record batches of an Arrow IPC file or stream are: from its footer, or message by message."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

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
_PREFIX_BYTES = 8

View: TypeAlias = Callable[[int, int], Encoded]
"""Bytes of a file: (position, how many) → as many, or fewer where the file ends."""


@dataclass(frozen=True, slots=True)
class Messages:
    """The record batch messages of a file, as its footer lists them; `blocks` is (num_batches,) of the footer's Block.

    For a large footer it is a view of the mapped file: nothing is held a batch.
    """

    blocks: npt.NDArray[np.void]

    @classmethod
    def of(cls, messages: Iterable[Message]) -> Messages:
        """The record batches among `messages`."""
        rows = [(one.start, one.body - one.start, 0, one.end - one.body) for one in messages if one.is_batch]
        return cls(np.array(rows, _BLOCK))

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

    @property
    def ends(self) -> Positions:
        """The byte after each message, int64 (num_batches,)."""
        ends: Positions = self.bodies + self.blocks["body_bytes"]
        return ends


@dataclass(frozen=True, slots=True)
class Contents:
    """What a file or stream holds; `cut` says where it ends too early, None when it is whole."""

    schema: Schema
    messages: Messages
    cut: str | None = None
    is_stream: bool = False


class CutError(CorruptError):
    """A message that goes on beyond the end of the file."""


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


def viewing(memory: Memory) -> View:
    """A view of bytes in memory."""
    data = memory.data
    return lambda at, size: data[at : at + size]


@dataclass(frozen=True, slots=True)
class Message:
    """One message: where it starts, where its body starts and ends, its kind and its header."""

    start: int
    body: int
    end: int
    kind: int
    header: Table | None
    version: int

    @property
    def is_batch(self) -> bool:
        """Whether it is a record batch."""
        return self.kind == _RECORD_BATCH


def scan(view: View, start: int, end: int) -> Iterator[Message]:
    """The messages in start ≤ byte < end, up to an end marker, which comes last with an empty body and kind 0.

    Raises CutError for a message that goes on beyond `end`, CorruptError for one that can't be.
    """
    position = start
    while position < end:
        metadata, length = _prefix(view(position, _PREFIX_BYTES), position)
        body = metadata + length
        if body > end:
            raise CutError(f"is cut inside the message at byte {position}: it ends at byte {end}")
        if length == 0:
            yield Message(position, body, body, 0, None, 0)
            return
        message = Table.root(view(metadata, length))
        stop = body + message.number(3, INT64)
        if not position < body <= stop:
            raise CorruptError(f"has a message of impossible size at byte {position}")
        if stop > end:
            raise CutError(f"is cut inside the message at byte {position}: it ends at byte {end} instead of {stop}")
        yield Message(position, body, stop, message.number(1, INT8), message.table(2), message.number(0, INT16))
        position = stop


def walk(view: View, size_bytes: int, start: int = 0, on_batch: Callable[[], None] = lambda: None) -> Contents:
    """The contents of the stream that begins at byte `start`, with or without an end marker.

    `on_batch` is called for each record batch. A stream that ends inside a message is reported as cut, with the record
    batches before the cut. Raises CorruptError when it has no schema, or when bytes follow the end marker of a stream
    that is the whole file.
    """
    schema: Schema | None = None
    batches: list[Message] = []
    cut: str | None = None
    try:
        for message in scan(view, start, size_bytes):
            if message.kind == _SCHEMA and message.header is not None:
                schema = Schema.parse(message.header, message.version)
            elif message.is_batch:
                on_batch()
                batches.append(message)
            elif message.kind == 0 and message.header is None and start == 0:
                _check_nothing_follows(size_bytes, message.end)
    except CutError as error:
        cut = str(error)
    if schema is None:
        raise CorruptError(cut or "holds no schema message")
    return Contents(schema, Messages.of(batches), cut, is_stream=True)


def _prefix(head: Encoded, position: int) -> tuple[int, int]:
    """Where the metadata of the message at `position`, which starts with `head`, starts, and its length.

    The length of a cut prefix is one past the end.
    """
    if len(head) < 4:
        return position + 4, 1
    length = read(head, 0, UINT32)
    if length != _CONTINUATION:
        return position + 4, length
    return position + 8, read(head, 4, UINT32) if len(head) >= _PREFIX_BYTES else 1


def _check_nothing_follows(size_bytes: int, position: int) -> None:
    if size_bytes > position:
        raise CorruptError(
            f"has {size_bytes - position} bytes after its end marker at byte {position}; "
            "streams that were joined with cat must be written as one stream"
        )
