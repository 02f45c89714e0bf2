r"""JSON lines and plain text. Only `\n` ends a line; CR, NEL and U+2028 are part of it. A byte-order mark goes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Final

from headrace.tokenize.reading.rows import Bad, BadFileError, Row, Wanted, decoded, too_long
from headrace.tokenize.reading.stream import Bytes
from headrace.tokenize.units import Part

_MARK: Final = b"\xef\xbb\xbf"


def read_lines(part: Part, wanted: Wanted, data: Bytes, skip: int) -> Iterator[tuple[int, Row]]:
    """The rows of the lines that begin in the part's bytes; see `read_part`."""
    row = part.first_row
    lines = _lines(data, part.start, part.end, wanted.max_bytes)
    try:
        for line in lines:
            if row - part.first_row >= skip:
                yield row, line if isinstance(line, Bad) else _text(line, wanted)
            row += 1
    except BadFileError as error:
        raise BadFileError(error.why, row) from error


def read_whole(wanted: Wanted, data: Bytes) -> Row:
    """All of a plain file; see `read_part`."""
    pieces: list[bytes] = []
    total = 0
    for chunk in data.chunks():
        total += len(chunk)
        if total <= wanted.max_bytes:
            pieces.append(chunk)
        else:
            pieces.clear()
    if total > wanted.max_bytes:
        return too_long(total, wanted.max_bytes)
    return decoded(b"".join(pieces).removeprefix(_MARK), wanted.max_bytes)


def starts_as_json(data: Bytes) -> bool:
    """Whether the first line is a JSON object, so that a file whose name says nothing is JSON lines."""
    first = next(data.chunks(), b"").removeprefix(_MARK).lstrip().partition(b"\n")[0]
    return first.startswith(b"{") and isinstance(_parsed(first), dict)


def _lines(data: Bytes, start: int, end: int | None, max_bytes: int) -> Iterator[bytes | Bad]:
    """Lines, without their ends, that begin at a byte of [start, end); one over `max_bytes` is never held whole."""
    pieces: list[bytes] = []
    size = 0
    "bytes of the line so far, held or not"
    begins = max(start - 1, 0)
    is_first = start > 0
    "the rest of a line that belongs to the part before"
    for chunk in data.chunks(begins):
        place = 0
        while (stop := chunk.find(b"\n", place)) >= 0:
            size += stop - place
            if not is_first:
                pieces.append(chunk[place:stop])
                yield _line(pieces, size, max_bytes, begins == 0)
            begins, is_first = begins + size + 1, False
            if end is not None and begins >= end:
                return
            pieces, size, place = [], 0, stop + 1
        size += len(chunk) - place
        if size > max_bytes:
            pieces.clear()
        elif not is_first:
            pieces.append(chunk[place:])
    if size and not is_first:
        yield _line(pieces, size, max_bytes, begins == 0)


def _line(pieces: list[bytes], size: int, max_bytes: int, at_start: bool) -> bytes | Bad:
    if size > max_bytes:
        return too_long(size, max_bytes)
    line = pieces[0] if len(pieces) == 1 else b"".join(pieces)
    return line.removeprefix(_MARK) if at_start else line


def _text(line: bytes, wanted: Wanted) -> Row:
    """The text of one line; an empty one for a blank line."""
    text = decoded(line, wanted.max_bytes)
    if not isinstance(text, str):
        return text
    if not text.strip():
        return ""
    record = _parsed(text)
    return record if isinstance(record, Bad) else _value(record, text, wanted.column)


def _value(record: object, line: str, column: str) -> Row:
    if not isinstance(record, dict):
        return Bad(f"is JSON and no object: {line[:40]!r}")
    if column not in record:
        return Bad(f"has no key {column!r}; its keys are {', '.join(list(record)[:8]) or 'none'}")
    value = record[column]
    if value is None:
        return None
    if not isinstance(value, str):
        return Bad(f"has {str(value)[:40]!r} under {column!r}, which is no text")
    return _without_surrogates(value) if "\\u" in line else value


def _parsed(text: str | bytes) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        return Bad(f"is not JSON ({error})")


def _without_surrogates(text: str) -> Row:
    try:
        text.encode()
    except UnicodeEncodeError as error:
        return Bad(f"has a lone surrogate, U+{ord(text[error.start]):04X}, at character {error.start}")
    return text
