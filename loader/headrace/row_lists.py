"""Files of (path, row) pairs, each naming one document of a source.

Parquet and Arrow files have the columns `path` (string) and `row` (integer), CSV files those two in their header, and
each line of a JSONL file is an object with those two keys; further columns are ignored.
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import numpy.typing as npt

from headrace.errors import SourceError

if TYPE_CHECKING:
    import pyarrow as pa

Ints = npt.NDArray[np.int64]

EXTENSIONS: Final = (".parquet", ".arrow", ".feather", ".ipc", ".csv", ".jsonl")
"what a file of pairs ends in; it says how the file is read"

_OPTIONS: Final = re.compile(r"\?[A-Za-z_]+=[^?]*$")
_PLACE: Final = re.compile(r"\.{0,2}/|[A-Za-z][A-Za-z0-9+.-]*://")


def is_row_list(item: str) -> bool:
    """Whether an item of `exclude` is the place of a file of pairs: absolute, `./…`, `../…` or a URL; else a glob."""
    return _PLACE.match(item) is not None


def list_name(item: str) -> str:
    """The place of a file of pairs without the options that a URI may end in, `?endpoint_override=…`."""
    return _OPTIONS.sub("", item) if "://" in item else item


@dataclass(frozen=True, slots=True)
class RowList:
    """The pairs of one file: `rows` are by path, sorted, each once, at least 0; `digest` is 16 hex digits."""

    name: str
    digest: str
    rows: dict[str, Ints]


def parse_rows(name: str, content: bytes) -> RowList:
    """Reads the bytes of a file of pairs called `name`, whose extension is one of `EXTENSIONS`.

    Raises SourceError, naming the file and the line or row, when it can't be read so, has no `path` or `row`, a value
    of another type or a negative row, or no pair at all.
    """
    extension = name[name.rindex(".") :].lower()
    paths, rows = _TEXT.get(extension, _arrow)(name, content)
    if len(rows) == 0:
        raise SourceError(f"{name} has no (path, row) pair; leave it out of exclude, or write the rows that it is for")
    if int(rows.min()) < 0:
        at = int(np.argmin(rows))
        raise SourceError(f"{name} names row {rows[at]} of {paths[at].as_py()!r}; rows count from 0")
    coded = paths.dictionary_encode()
    codes = coded.indices.to_numpy()
    ascending = np.argsort(codes, kind="stable")
    own = np.split(rows[ascending], np.flatnonzero(np.diff(codes[ascending])) + 1)
    # Codes count up in the order in which paths first occur.
    by_path = dict(zip(map(str, coded.dictionary.to_pylist()), map(np.unique, own), strict=True))
    return RowList(name, hashlib.blake2b(content, digest_size=8).hexdigest(), by_path)


Pairs = tuple["pa.Array[Any]", Ints]


def _arrow(name: str, content: bytes) -> Pairs:
    import pyarrow as pa  # noqa: PLC0415  # costs 100 ms, and few sources need it
    import pyarrow.parquet as pq  # noqa: PLC0415

    try:
        if content.startswith(b"PAR1"):
            table = pq.read_table(pa.BufferReader(content), columns=["path", "row"])
        elif content.startswith(b"ARROW1"):
            table = pa.ipc.open_file(content).read_all()
        else:
            table = pa.ipc.open_stream(content).read_all()
        paths = table.column("path").cast(pa.large_string())
        kind = table.column("row").type
        if not pa.types.is_integer(kind):
            raise SourceError(f"column 'row' of {name} is {kind}; it must hold whole numbers")
        rows = table.column("row").cast(pa.int64())
    except (pa.ArrowException, KeyError, ValueError, OSError) as error:
        if isinstance(error, SourceError):
            raise
        raise SourceError(f"{name} can't be read as (path, row) pairs: {error}; {_WANTED}") from error
    if paths.null_count or rows.null_count:
        raise SourceError(f"{name} has {max(paths.null_count, rows.null_count)} pairs with a null; {_WANTED}")
    return paths.combine_chunks(), rows.to_numpy()


def _csv(name: str, content: bytes) -> Pairs:
    reader = csv.DictReader(io.StringIO(_text(name, content), newline=""))
    if not {"path", "row"} <= set(reader.fieldnames or ()):
        raise SourceError(f"{name} begins with the columns {reader.fieldnames}; {_WANTED}")
    return _pairs(name, ((reader.line_num, record) for record in reader), from_text=True)


def _jsonl(name: str, content: bytes) -> Pairs:
    def records() -> Iterator[tuple[int, Any]]:
        for number, line in enumerate(_text(name, content).split("\n"), 1):
            if line.strip():
                try:
                    yield number, json.loads(line)
                except ValueError as error:
                    raise SourceError(f"line {number} of {name} is not JSON ({error}); {_WANTED}") from error

    return _pairs(name, records(), from_text=False)


def _text(name: str, content: bytes) -> str:
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise SourceError(f"{name} is not UTF-8 text ({error}); {_WANTED}") from error


def _pairs(name: str, records: Iterable[tuple[int, Any]], *, from_text: bool) -> Pairs:
    import pyarrow as pa  # noqa: PLC0415

    paths: list[str] = []
    rows: list[int] = []
    for line, record in records:
        path, row = (record.get("path"), record.get("row")) if isinstance(record, dict) else (None, None)
        if from_text and isinstance(row, str) and row.strip().isdecimal():
            row = int(row)
        if not isinstance(path, str) or type(row) is not int or not 0 <= row < 1 << 62:
            raise SourceError(f"line {line} of {name} has path {path!r} and row {row!r}; {_WANTED}")
        paths.append(path)
        rows.append(row)
    return pa.array(paths, pa.large_string()), np.array(rows, np.int64)


_TEXT: Final = {".csv": _csv, ".jsonl": _jsonl}

_WANTED: Final = "it must hold a path (text, relative to the source) and a row (a whole number from 0) in each"
