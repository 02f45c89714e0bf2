"""The counts of every shard of a source, from their footers, in parallel."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Final

import numpy as np

from headrace.discovery import Found
from headrace.errors import DataError
from headrace.formats import BlockTable, ShardIndex, open_shard
from headrace.formats.allowance import Allowance
from headrace.formats.index import IndexedShard
from headrace.places import Listed, Place

log = logging.getLogger("headrace")

_MAX_THREADS: Final = 16
_REMOTE_THREADS: Final = 64
_FILES_AT_ONCE: Final = 8
_NOTHING: Final = np.empty(0, np.int64)
_NO_BLOCKS: Final = ShardIndex.of(BlockTable(_NOTHING, _NOTHING, _NOTHING, _NOTHING, 0, 0, np.dtype(np.uint8)))


def read_footers(
    name: str, found: Found, column: str, is_left_out: Callable[[str], bool], allowance: Allowance
) -> Iterator[ShardIndex]:
    """What is known of every shard, in order; the first fault in that order is raised with the source's name.

    A shard of which `is_left_out(path)` is true and which can't be read counts as one without rows. Raises SourceError
    and ShardError as `open_shard` and `ShardFile.table` do.
    """

    def read(files: Sequence[Listed]) -> list[ShardIndex]:
        return [read_one(file) for file in files]

    def read_one(file: Listed) -> ShardIndex:
        try:
            return _read(found.root / file.path, column, file, allowance)
        except DataError as error:
            if not is_left_out(file.path):
                raise
            log.warning("source %r: a shard that is left out can't be read, and is counted as empty: %s", name, error)
            return _NO_BLOCKS

    threads = min(_MAX_THREADS, 4 * (os.cpu_count() or 1)) if found.root.remote is None else _REMOTE_THREADS
    threads = min(threads, len(found.files))
    step = max(1, min(_FILES_AT_ONCE, len(found.files) // (4 * threads)))
    parts = [found.files[first : first + step] for first in range(0, len(found.files), step)]
    with ThreadPoolExecutor(threads, thread_name_prefix="headrace-manifest") as pool:
        try:
            for indexes in pool.map(read, parts):
                yield from indexes
        except DataError as error:
            pool.shutdown(cancel_futures=True)
            raise type(error)(f"source '{name}': {error}") from error


def _read(place: Place, column: str, listed: Listed, allowance: Allowance) -> ShardIndex:
    shard = open_shard(place, column=column, listed=listed, allowance=allowance)
    try:
        return shard.index() if isinstance(shard, IndexedShard) else ShardIndex.of(shard.table())
    finally:
        shard.close()
