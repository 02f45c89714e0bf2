"""Bytes of a `text/event-stream` to events, as WHATWG HTML has it, in bounded memory. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from headrace.telemetry.failures import ServiceError

_MOST_BYTES = 64 << 10
_MOST_RETRY_MS = 60_000
_LINE_END = re.compile(rb"\r\n|\n|\r(?!\Z)")
"a carriage return at the very end may be half of a line's end"


@dataclass(frozen=True, slots=True)
class ServerEvent:
    """One event; a comment is an event without name and data."""

    name: str
    data: str


class EventReader:
    """Feed it what arrives, in pieces of any size; it holds one event at most, which may have 64 KiB.

    `retry_s` is how long the server asked clients to wait before they come back, up to a minute; None if it never did.
    """

    def __init__(self) -> None:
        self.retry_s: float | None = None
        self._rest = b""
        self._name = ""
        self._data: list[str] = []
        self._num_bytes = 0

    def feed(self, piece: bytes) -> Iterator[ServerEvent]:
        """The events that end in this piece, and its comments. Raises ServiceError for an event over 64 KiB."""
        *lines, self._rest = _LINE_END.split(self._rest + piece)
        self._bound(len(self._rest))
        for line in lines:
            if line.startswith(b":"):
                yield ServerEvent("", "")
            elif line:
                self._num_bytes += len(line)
                self._bound(0)
                self._field(line.decode("utf-8", "replace").removeprefix("\ufeff"))
            else:
                yield from self._event()

    def _bound(self, num_bytes: int) -> None:
        if self._num_bytes + num_bytes > _MOST_BYTES:
            raise ServiceError("not events", f"an event of the control plane is longer than {_MOST_BYTES} bytes")

    def _event(self) -> Iterator[ServerEvent]:
        if self._data:
            yield ServerEvent(self._name or "message", "\n".join(self._data))
        self._name, self._data, self._num_bytes = "", [], 0

    def _field(self, line: str) -> None:
        name, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if name == "data":
            self._data.append(value)
        elif name == "event":
            self._name = value
        elif name == "retry" and value.isascii() and value.isdigit():
            self.retry_s = min(int(value[:9]), _MOST_RETRY_MS) / 1000
