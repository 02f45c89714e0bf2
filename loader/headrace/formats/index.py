"""The counts of a shard whose footer leaves them out, kept under `HEADRACE_CACHE` so that they are taken once.

An entry belongs to one version of one file: it is used only when path, size, modification time and column are the
same and its checksum holds; anything else is as if there were no entry. Entries appear whole (written aside, then
renamed).
"""

from __future__ import annotations

import hashlib
import json
import os
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, runtime_checkable

import numpy as np

from headrace.cache import cache_root
from headrace.formats.shard import MAX_BLOCK_ROWS, MAX_BLOCK_TOKENS, BlockTable, Int64Array
from headrace.formats.whole import whole_file
from headrace.places import File

_MAGIC = b"HEADRACE INDEX 2"
_DIGEST_BYTES = 16
_ROWS = 8


@dataclass(frozen=True, slots=True)
class ShardIndex:
    """The blocks of a shard, and for Arrow where each is.

    All arrays are int64 (num_blocks,): the first record batch of a block, its first row in that batch, and the bytes
    of the file, `first_byte` ≤ byte < `end_byte`, that hold all its record batches. `layout` is what
    `TokenColumn.to_json` says of the column of a foreign Arrow shard; others, whose footers say it all, leave it empty.
    """

    table: BlockTable
    first_batch: Int64Array
    first_batch_row: Int64Array
    first_byte: Int64Array
    end_byte: Int64Array
    layout: str = ""

    @classmethod
    def of(cls, table: BlockTable) -> ShardIndex:
        """The index of a shard whose blocks are found by their numbers alone."""
        nothing = np.zeros_like(table.first_row)
        return cls(table, nothing, nothing, nothing, nothing)


@runtime_checkable
class IndexedShard(Protocol):
    """An opened shard that knows more of its blocks than their counts."""

    def index(self) -> ShardIndex:
        """The table, and where the blocks lie; raises ShardError when the file can't be counted."""


def index_key(file: File, column: str) -> str:
    """What an index of `column` in this version of a file is stored under; other block bounds cut other blocks."""
    return json.dumps([*file.identity, column, MAX_BLOCK_TOKENS, MAX_BLOCK_ROWS])


def load_index(key: str) -> ShardIndex | None:
    """The index stored under `key`, or None when there is none or it is damaged."""
    try:
        raw = _entry(key).read_bytes()
    except OSError:
        return None
    body = raw[len(_MAGIC) + _DIGEST_BYTES :]
    if raw[: len(_MAGIC)] != _MAGIC or raw[len(_MAGIC) : len(_MAGIC) + _DIGEST_BYTES] != _digest(body):
        return None
    header, _, arrays = body.partition(b"\n")
    facts = json.loads(header)
    return _unpack(facts, arrays) if facts["key"] == key else None


def store_index(key: str, index: ShardIndex) -> None:
    """Stores `index` under `key`; warns, and goes on without, when the cache can't be written."""
    body = _pack(key, index)
    entry = _entry(key)
    try:
        entry.parent.mkdir(parents=True, exist_ok=True)
        with whole_file(entry, durable=False) as file:
            file.write(_MAGIC + _digest(body) + body)
    except OSError as error:
        warnings.warn(
            f"the index cache {entry.parent} can't be written ({error.strerror}); shards without counts are counted "
            "again at every start; set HEADRACE_CACHE to a folder that can be written",
            RuntimeWarning,
            stacklevel=2,
        )


def _entry(key: str) -> Path:
    return cache_root() / "index" / hashlib.blake2b(os.fsencode(key), digest_size=16).hexdigest()


def _digest(body: bytes) -> bytes:
    return hashlib.blake2b(body, digest_size=_DIGEST_BYTES).digest()


def _pack(key: str, index: ShardIndex) -> bytes:
    table = index.table
    facts = {
        "key": key,
        "num_empty": table.num_empty,
        "num_null": table.num_null,
        "token_dtype": table.token_dtype.str,
        "max_token": table.max_token,
        "min_token": table.min_token,
        "layout": index.layout,
    }
    rows = (
        table.first_row,
        table.num_rows,
        table.num_documents,
        table.num_tokens,
        index.first_batch,
        index.first_batch_row,
        index.first_byte,
        index.end_byte,
    )
    return json.dumps(facts).encode() + b"\n" + np.stack(rows).astype("<i8").tobytes()


def _unpack(facts: dict[str, object], arrays: bytes) -> ShardIndex:
    rows = np.frombuffer(arrays, "<i8").astype(np.int64).reshape(_ROWS, -1)
    first_row, num_rows, num_documents, num_tokens, first_batch, first_batch_row, first_byte, end_byte = rows
    table = BlockTable(
        first_row,
        num_rows,
        num_documents,
        num_tokens,
        num_empty=_integer(facts["num_empty"]) or 0,
        num_null=_integer(facts["num_null"]) or 0,
        token_dtype=np.dtype(str(facts["token_dtype"])),
        max_token=_integer(facts["max_token"]),
        min_token=_integer(facts["min_token"]),
    )
    return ShardIndex(table, first_batch, first_batch_row, first_byte, end_byte, str(facts["layout"]))


def _integer(value: object) -> int | None:
    return value if isinstance(value, int) else None
