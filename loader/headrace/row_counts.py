"""How many documents and tokens some rows of a source hold, block by block: read once, then remembered.

An entry of the cache belongs to one version of every shard that was touched and to just these rows; anything else, or
a damaged entry, is as if there were none.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from headrace.cache import cache_root
from headrace.errors import DataError
from headrace.formats import ShardFile
from headrace.formats.whole import whole_file
from headrace.manifest import SourceManifest

Ints = npt.NDArray[np.int64]

_MAX_THREADS: Final = 16
_DIGEST_BYTES: Final = 16
_NO_ROWS: Final = np.empty(0, np.int64)


@dataclass(frozen=True, slots=True)
class RowCounts:
    """Columns of equal length (n,): `block` of the manifest, each once, `documents` and `tokens` of the rows in it."""

    block: Ints
    documents: Ints
    tokens: Ints


def is_listed(rows: Ints, listed: Ints) -> npt.NDArray[np.bool_]:
    """Which of `rows`, int64 (n,), are in `listed`, which is sorted: bool (n,)."""
    if len(listed) == 0:
        return np.zeros(len(rows), np.bool_)
    found: npt.NDArray[np.bool_] = listed[np.searchsorted(listed, rows).clip(max=len(listed) - 1)] == rows
    return found


def count_rows(manifest: SourceManifest, rows: Mapping[int, Ints]) -> RowCounts:
    """The documents among `rows` (sorted, by shard number) that `manifest` has not left out already.

    Opens the blocks that hold them, in parallel, unless the cache knows. Raises ShardError, naming source, file and
    block, when one can't be read.
    """
    if not rows:
        return RowCounts(_NO_ROWS, _NO_ROWS, _NO_ROWS)
    key = _key(manifest, rows)
    table = _load(key)
    if table is None:
        table = _count(manifest, rows)
        _store(key, table)
    return RowCounts(table[:, 0], table[:, 1], table[:, 2])


def _count(manifest: SourceManifest, rows: Mapping[int, Ints]) -> Ints:
    """int64 (n, 3): block, documents, tokens."""

    def touched(shard: int) -> tuple[ShardFile, Ints]:
        return _touched(manifest, shard, rows[shard])

    def count(task: tuple[ShardFile, int]) -> tuple[int, int, int]:
        file, block = task
        shard = int(manifest.block_shard[block])
        opened = file.open_block(int(manifest.block_index[block]))
        hit = is_listed(opened.rows, rows[shard])
        hit &= ~is_listed(opened.rows, manifest.left_out.get(shard, _NO_ROWS))
        return block, int(hit.sum()), int(opened.lengths[hit].sum())

    threads = min(_MAX_THREADS, 4 * (os.cpu_count() or 1))
    with ThreadPoolExecutor(threads, thread_name_prefix="headrace-exclude") as pool:
        try:
            shards = list(pool.map(touched, rows))
            tasks = [(file, block) for file, blocks in shards for block in blocks.tolist()]
            counted = list(pool.map(count, tasks))
        except DataError as error:
            pool.shutdown(cancel_futures=True)
            raise type(error)(f"source '{manifest.name}': exclude: {error}") from error
    for file, _ in shards:
        file.close()
    return np.array(counted, np.int64).reshape(-1, 3)


def _touched(manifest: SourceManifest, shard: int, rows: Ints) -> tuple[ShardFile, Ints]:
    """The opened shard, and the blocks of the manifest that hold `rows`."""
    file = manifest.open_shard(shard)
    index = np.unique(np.searchsorted(file.table().first_row, rows, side="right") - 1)
    listed = manifest.shards[shard]
    known = manifest.block_index[listed.first_block : listed.first_block + listed.num_blocks]
    return file, listed.first_block + np.flatnonzero(np.isin(known, index))


def _key(manifest: SourceManifest, rows: Mapping[int, Ints]) -> str:
    """What the counts are stored under: everything that they follow from."""
    shards = []
    for shard, own in sorted(rows.items()):
        listed = manifest.shards[shard]
        left_out = manifest.left_out.get(shard, _NO_ROWS)
        shards.append(
            [
                str(manifest.root / listed.path),
                listed.mtime_ns,
                _digest(own.tobytes()),
                _digest(left_out.tobytes()),
            ]
        )
    return _digest(json.dumps([manifest.fingerprint, manifest.column, manifest.join_factor, shards]).encode())


def _digest(content: bytes) -> str:
    return hashlib.blake2b(content, digest_size=_DIGEST_BYTES).hexdigest()


def _load(key: str) -> Ints | None:
    try:
        digest, _, body = (cache_root() / "excluded" / key).read_bytes().partition(b"\n")
    except OSError:
        return None
    return np.frombuffer(body, "<i8").astype(np.int64).reshape(-1, 3) if digest == _digest(body).encode() else None


def _store(key: str, table: Ints) -> None:
    """Stores the counts; where the cache can't be written they are read again next time."""
    body = table.astype("<i8").tobytes()
    entry = cache_root() / "excluded" / key
    try:
        entry.parent.mkdir(parents=True, exist_ok=True)
        with whole_file(entry, durable=False) as file:
            file.write(_digest(body).encode() + b"\n" + body)
    except OSError:
        return
