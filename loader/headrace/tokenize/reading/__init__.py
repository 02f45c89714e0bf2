"""The rows of a file of text, whatever holds them: Parquet, Arrow, JSON lines or plain text, compressed or not.

    for row, text in read_part(part, source="web", column="text", skip=0, max_bytes=64 << 20):
        ...     # str, None for a null, or Bad with what is wrong

What a file is follows from its bytes; only JSON lines and plain text are told apart by name, or by the first line where
the name says nothing. In the order to read: `rows`, `stream`, `lines`, `columns`.
"""

from __future__ import annotations

from collections.abc import Iterator

from headrace.errors import SourceError
from headrace.places import ChangedError, Listed
from headrace.tokenize.inputs import COLUMNS, LINES, PLAIN, bare
from headrace.tokenize.reading.lines import read_lines, read_whole, starts_as_json
from headrace.tokenize.reading.rows import BadFileError, Row, Wanted
from headrace.tokenize.reading.stream import Bytes, foreign
from headrace.tokenize.units import Part


def read_part(part: Part, wanted: Wanted, *, skip: int) -> Iterator[tuple[int, Row]]:
    """(number of the row in the file, its text) of every row of `part` in order, but for the first `skip` of the part.

    A line is a row, blank ones too; a plain file is one. Memory is bounded by `wanted.max_bytes` and a few MiB.

    Raises:
        BadFileError: what remains of the file can't be read as what it is; the rows before it were given.
        SourceError: it is gone, was changed since it was listed, or the store stays away.
    """
    place = part.input("").place
    try:
        file = place.open(Listed(part.path, part.size_bytes, part.mtime_ns))
        if file.size_bytes != part.size_bytes:
            raise ChangedError(f"changed from {part.size_bytes} to {file.size_bytes} bytes since it was listed")
        data = Bytes(file)
        rows = _rows(part, wanted, data, skip)
        yield from rows
    except BadFileError:
        raise
    except OSError as error:
        raise SourceError(
            f"{place} can't be read ({error.strerror or error}); let its writer finish, or put it back as it was, "
            "and run again: what is finished is kept"
        ) from error


def _rows(part: Part, wanted: Wanted, data: Bytes, skip: int) -> Iterator[tuple[int, Row]]:
    head = data.head
    if head.startswith((b"PAR1", b"ARROW1", b"\xff\xff\xff\xff")):
        from headrace.tokenize.reading.columns import read_arrow, read_parquet  # noqa: PLC0415  # only these need pyarrow

        read = read_parquet if head.startswith(b"PAR1") else read_arrow
        yield from read(part, wanted, data.file, skip)
        return
    if (other := foreign(head)) is not None:
        why = f"is {other}, which is not read; UTF-8 is, in gzip or Zstandard too, and Parquet and Arrow"
        raise BadFileError(why, part.first_row)
    data.check()
    name = bare(part.path)
    if part.path.lower().endswith(COLUMNS):
        raise BadFileError(f"begins with {head[:8]!r}, so it is neither Parquet nor Arrow", part.first_row)
    if name.endswith(LINES) or (not name.endswith(PLAIN) and starts_as_json(data)):
        yield from read_lines(part, wanted, data, skip)
    elif skip == 0:
        yield 0, read_whole(wanted, data)
