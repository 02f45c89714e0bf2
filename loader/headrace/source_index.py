"""The counts of a whole source in one Parquet file: written by `headrace index`, and by itself for remote sources.

A row is a shard, in the order of the paths: its path, size and time of change as listed, its counts a block, the type
and bounds of its ids, and for foreign Arrow where its blocks lie in the file, so that no footer is needed. The file's
metadata says what it was made of.
"""

from __future__ import annotations

import hashlib
import io
import json
import logging
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import IO, Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from headrace.cache import cache_root
from headrace.differences import difference
from headrace.discovery import Found
from headrace.errors import SourceError
from headrace.formats import BlockTable, ShardIndex
from headrace.formats.shard import MAX_BLOCK_ROWS, MAX_BLOCK_TOKENS
from headrace.formats.whole import whole_file
from headrace.places import Listed, Place

log = logging.getLogger("headrace")

_VERSION: Final = "1"
_SHARDS_A_GROUP: Final = 256
_KEPT_INDEXES: Final = 64
_COUNTS: Final = ("num_rows", "num_documents", "num_tokens")
_PLACES: Final = ("first_batch", "first_batch_row", "first_byte", "end_byte")
_FIELDS: Final[list[pa.Field[Any]]] = [
    pa.field("path", pa.string()),
    pa.field("size_bytes", pa.int64()),
    pa.field("mtime_ns", pa.int64()),
    pa.field("num_empty", pa.int64()),
    pa.field("num_null", pa.int64()),
    pa.field("token_dtype", pa.string()),
    pa.field("min_token", pa.string()),
    pa.field("max_token", pa.string()),
    pa.field("layout", pa.string()),
    *(pa.field(name, pa.list_(pa.int64())) for name in (*_COUNTS, *_PLACES)),
]
_SCHEMA: Final = pa.schema(_FIELDS)
_LISTED: Final = ("path", "size_bytes", "mtime_ns")


@dataclass(frozen=True, slots=True)
class SourceIndex:
    """An index that was read; `name` is where from, `root` and `column` are what it was made of."""

    name: str
    root: str
    column: str
    files: tuple[Listed, ...]
    _content: bytes

    def indexes(self) -> Iterator[ShardIndex]:
        """What is known of every shard, in the order of `files`."""
        file = pq.ParquetFile(io.BytesIO(self._content))
        for group in range(file.num_row_groups):
            yield from _indexes(file.read_row_group(group))

    def known(self, shard: int) -> ShardIndex | None:
        """What is known of one shard, where its own footer would not do as well."""
        file = pq.ParquetFile(io.BytesIO(self._content))
        group, place = divmod(shard, _SHARDS_A_GROUP)
        if not file.read_row_group(group, columns=["layout"]).column("layout")[place].as_py():
            return None
        return next(_indexes(file.read_row_group(group).slice(place, 1)))

    def check(self, found: Found, column: str) -> None:
        """Raises SourceError, naming both and what differs, when this is not an index of what was `found`."""
        remedy = f"write it again with `headrace index {found.root} -o {self.name}`"
        if self.column != column:
            raise SourceError(f"index {self.name} is of column '{self.column}', not '{column}'; {remedy}")
        # A copy of a source has other times than the original; the original's own must be the same.
        same_place = self.root == str(found.root)
        if not _is_same(self.files, found.files, with_times=same_place):
            differs = difference(self.files, found.files) or "shards were written anew since"
            raise SourceError(f"index {self.name} does not match {found.root}: {differs}; {remedy}")


def _is_same(one: Sequence[Listed], other: Sequence[Listed], *, with_times: bool) -> bool:
    return len(one) == len(other) and all(
        a.path == b.path
        and a.size_bytes == b.size_bytes
        and (not with_times or None in (a.mtime_ns, b.mtime_ns) or a.mtime_ns == b.mtime_ns)
        for a, b in zip(one, other, strict=True)
    )


def load_index(place: Place) -> SourceIndex:
    """Reads the index at `place`; raises SourceError, naming it, when it can't be, or is none of this version."""
    try:
        file = place.open()
        return _parse(str(place), file.read(0, file.size_bytes).tobytes())
    except (OSError, pa.ArrowException, KeyError, ValueError) as error:
        raise SourceError(
            f"index {place} can't be read ({error}); write it with `headrace index PATH -o {place}`"
        ) from error


def _parse(name: str, content: bytes) -> SourceIndex:
    file = pq.ParquetFile(io.BytesIO(content))
    facts = json.loads((file.schema_arrow.metadata or {})[b"headrace.index"])
    bounds = [MAX_BLOCK_TOKENS, MAX_BLOCK_ROWS]
    if facts["version"] != _VERSION or facts["bounds"] != bounds:
        raise ValueError(
            f"it is of version {facts['version']} and bounds {facts['bounds']}, not {_VERSION} and {bounds}"
        )
    listed = file.read(columns=list(_LISTED))
    columns = (listed.column(name).to_pylist() for name in _LISTED)
    files = tuple(Listed(*row) for row in zip(*columns, strict=True))
    return SourceIndex(name, facts["root"], facts["column"], files, content)


class IndexWriter:
    """Writes an index to `stream`, shard after shard in the order of their paths; `close` ends it."""

    def __init__(self, stream: IO[bytes], root: Place, column: str) -> None:
        facts = {
            "version": _VERSION,
            "root": str(root),
            "column": column,
            "bounds": [MAX_BLOCK_TOKENS, MAX_BLOCK_ROWS],
        }
        self._writer = pq.ParquetWriter(
            stream, _SCHEMA.with_metadata({"headrace.index": json.dumps(facts)}), compression="zstd"
        )
        self._rows: list[dict[str, Any]] = []

    def add(self, listed: Listed, index: ShardIndex) -> None:
        """Appends one shard."""
        table = index.table
        row = {name: getattr(listed, name) for name in _LISTED}
        row |= {
            "num_empty": table.num_empty,
            "num_null": table.num_null,
            "token_dtype": table.token_dtype.str,
            "min_token": None if table.min_token is None else str(table.min_token),
            "max_token": None if table.max_token is None else str(table.max_token),
            "layout": index.layout,
        }
        row |= {name: getattr(table, name) for name in _COUNTS}
        row |= {name: getattr(index, name) if index.layout else None for name in _PLACES}
        self._rows.append(row)
        if len(self._rows) == _SHARDS_A_GROUP:
            self._flush()

    def close(self) -> None:
        """Writes what is left and the footer."""
        self._flush()
        self._writer.close()

    def _flush(self) -> None:
        if self._rows:
            self._writer.write_table(pa.Table.from_pylist(self._rows, _SCHEMA))
            self._rows.clear()


def write_index(output: Place, found: Found, column: str, indexes: Iterable[ShardIndex]) -> None:
    """Writes the index of what was `found` to `output`, where it appears whole; raises OSError."""
    if output.remote is not None:
        buffer = io.BytesIO()
        _write(buffer, found, column, indexes)
        output.remote.write(output.path, buffer.getvalue())
        return
    with whole_file(Path(output.path), durable=True) as file:
        _write(file, found, column, indexes)


def _write(stream: IO[bytes], found: Found, column: str, indexes: Iterable[ShardIndex]) -> None:
    writer = IndexWriter(stream, found.root, column)
    for listed, index in zip(found.files, indexes, strict=True):
        writer.add(listed, index)
    writer.close()


def cached_index(found: Found, column: str) -> SourceIndex | None:
    """The index of what was `found` that is remembered on this machine, or None."""
    path = _entry(found, column)
    try:
        index = _parse(str(path), path.read_bytes())
    except (OSError, pa.ArrowException, KeyError, ValueError):
        return None
    is_same = index.column == column and _is_same(index.files, found.files, with_times=True)
    return index if is_same else None


def remembering(found: Found, column: str, indexes: Iterable[ShardIndex]) -> Iterator[ShardIndex]:
    """Passes `indexes` on, and remembers them as the index of what was `found` once all have come.

    Goes on without where the cache can't be written; the oldest others are forgotten.
    """
    path = _entry(found, column)
    passed = iter(indexes)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with whole_file(path, durable=False) as file:
            writer = IndexWriter(file, found.root, column)
            for listed, index in zip(found.files, passed, strict=True):
                yield index
                writer.add(listed, index)
            writer.close()
        others = sorted(path.parent.glob("*.parquet"), key=lambda other: other.stat().st_mtime_ns)
        for other in others[:-_KEPT_INDEXES]:
            other.unlink(missing_ok=True)
    except OSError as error:
        log.warning("what is known of %s can't be remembered (%s); the next start reads its footers again", path, error)
        yield from passed


def _entry(found: Found, column: str) -> Path:
    digest = hashlib.blake2b(digest_size=16)
    identity = found.root.remote.identity if found.root.remote is not None else ""
    digest.update(json.dumps([identity, str(found.root), column, MAX_BLOCK_TOKENS, MAX_BLOCK_ROWS]).encode())
    for one in found.files:
        digest.update(f"\0{one.path}\0{one.size_bytes} {one.mtime_ns}".encode())
    return cache_root() / "sources" / f"{digest.hexdigest()}.parquet"


def _indexes(rows: pa.Table) -> Iterator[ShardIndex]:
    """One index a row."""
    lists = {name: _arrays(rows.column(name).combine_chunks()) for name in (*_COUNTS, *_PLACES)}
    facts = rows.drop_columns(list(lists)).to_pylist()
    for number, fact in enumerate(facts):
        num_rows, num_documents, num_tokens = (lists[name][number] for name in _COUNTS)
        table = BlockTable(
            np.cumsum(num_rows) - num_rows,
            num_rows,
            num_documents,
            num_tokens,
            num_empty=fact["num_empty"],
            num_null=fact["num_null"],
            token_dtype=np.dtype(fact["token_dtype"]),
            min_token=None if fact["min_token"] is None else int(fact["min_token"]),
            max_token=None if fact["max_token"] is None else int(fact["max_token"]),
        )
        if fact["layout"]:
            first_batch, first_batch_row, first_byte, end_byte = (lists[name][number] for name in _PLACES)
            yield ShardIndex(table, first_batch, first_batch_row, first_byte, end_byte, fact["layout"])
        else:
            yield ShardIndex.of(table)


def _arrays(column: Any) -> list[Any]:
    """Each row of a list column as int64 (n,)."""
    offsets, values = column.offsets.to_numpy(), column.values.to_numpy(zero_copy_only=False).astype(np.int64)
    return [values[first:last] for first, last in pairwise(offsets.tolist())]
