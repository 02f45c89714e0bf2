"""The counts of a local source, remembered by its listing, so that its next start opens no shard.

Without pyarrow, which takes longer to import than a thousand footers to read. Another size or time of change of any
file, another column, or a damaged entry is as if there were nothing. Entries appear whole.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final

import numpy as np

from headrace.cache import cache_root
from headrace.discovery import Found
from headrace.formats import BlockTable, ShardIndex
from headrace.formats.shard import MAX_BLOCK_ROWS, MAX_BLOCK_TOKENS
from headrace.formats.whole import whole_file

FEWEST_SHARDS: Final = 32
"""Sources of fewer shards are read from their footers, which is as quick."""

MOST_BLOCKS: Final = 1 << 20
"""Sources of more blocks are read from their footers, rather than written out once more."""

_KEPT: Final = 64
_MAGIC: Final = b"HEADRACE TABLES1"
_DIGEST_BYTES: Final = 16


def recall_tables(found: Found, column: str) -> list[BlockTable] | None:
    """The table of every shard that was found, or None where they are not remembered."""
    if len(found.files) < FEWEST_SHARDS:
        return None
    try:
        raw = _entry(found, column).read_bytes()
    except OSError:
        return None
    body = raw[len(_MAGIC) + _DIGEST_BYTES :]
    if raw[: len(_MAGIC)] != _MAGIC or raw[len(_MAGIC) : len(_MAGIC) + _DIGEST_BYTES] != _digest(body):
        return None
    header, _, counts = body.partition(b"\n")
    facts = json.loads(header)
    return _tables(facts, np.frombuffer(counts, "<i8").astype(np.int64).reshape(3, -1))


def remembering_tables(found: Found, column: str, indexes: Iterable[ShardIndex]) -> Iterator[ShardIndex]:
    """Passes `indexes` on, and remembers their tables once all have come; never raises for want of disk."""
    tables: list[BlockTable] = []
    num_blocks = 0
    for index in indexes:
        yield index
        num_blocks += index.table.num_blocks
        if num_blocks <= MOST_BLOCKS:
            tables.append(index.table)
        else:
            tables.clear()
    if tables:
        _remember(found, column, tables)


def _remember(found: Found, column: str, tables: list[BlockTable]) -> None:
    """Writes the entry, and removes the oldest others."""
    columns = [[t.num_rows for t in tables], [t.num_documents for t in tables], [t.num_tokens for t in tables]]
    facts = [[t.num_blocks, t.num_empty, t.num_null, t.token_dtype.str, t.min_token, t.max_token] for t in tables]
    counts = b"".join(np.concatenate(one).astype("<i8").tobytes() for one in columns)
    body = json.dumps(facts).encode() + b"\n" + counts
    entry = _entry(found, column)
    try:
        entry.parent.mkdir(parents=True, exist_ok=True)
        with whole_file(entry, durable=False) as file:
            file.write(_MAGIC + _digest(body) + body)
        for old in sorted(entry.parent.iterdir(), key=lambda path: path.stat().st_mtime_ns)[:-_KEPT]:
            old.unlink(missing_ok=True)
    except OSError:
        return


def _tables(facts: list[list[Any]], counts: Any) -> list[BlockTable]:
    tables = []
    before = 0
    for num_blocks, num_empty, num_null, dtype, low, high in facts:
        num_rows, documents, tokens = counts[:, before : before + num_blocks]
        first_row = np.cumsum(num_rows) - num_rows
        kind = np.dtype(dtype)
        tables.append(BlockTable(first_row, num_rows, documents, tokens, num_empty, num_null, kind, high, low))
        before += num_blocks
    return tables


def _entry(found: Found, column: str) -> Path:
    digest = hashlib.blake2b(digest_size=16)
    root = str(Path(found.root.path).absolute())
    digest.update(json.dumps([root, column, MAX_BLOCK_TOKENS, MAX_BLOCK_ROWS]).encode(errors="surrogateescape"))
    for one in found.files:
        digest.update(f"\0{one.path}\0{one.size_bytes} {one.mtime_ns}".encode())
    return cache_root() / "tables" / digest.hexdigest()


def _digest(body: bytes) -> bytes:
    return hashlib.blake2b(body, digest_size=_DIGEST_BYTES).digest()
