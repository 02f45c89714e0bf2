"""The counts of every shard of a source, from their footers, in parallel."""

from __future__ import annotations

import logging
import os
import time
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
_REMOTE_THREADS: Final = 128
_FILES_AT_ONCE: Final = 8
_QUICK_S: Final = 0.002
"what a footer takes at most that is in the page cache, with room to spare"
_MAX_SLOW: Final = 8
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

    try:
        here = 0
        if found.root.remote is None:
            for index in _while_quick(read_one, found.files):
                here += 1
                yield index
        yield from _in_threads(read, found.files[here:], remote=found.root.remote is not None)
    except DataError as error:
        raise type(error)(f"source '{name}': {error}") from error


def _while_quick(read_one: Callable[[Listed], ShardIndex], files: Sequence[Listed]) -> Iterator[ShardIndex]:
    """Read files in this thread as long as they come from memory: threads would only take turns, and cost more."""
    slow = 0
    for file in files:
        began = time.perf_counter()
        index = read_one(file)
        slow += time.perf_counter() - began > _QUICK_S
        yield index
        if slow > _MAX_SLOW:
            return


def _in_threads(
    read: Callable[[Sequence[Listed]], list[ShardIndex]], files: Sequence[Listed], *, remote: bool
) -> Iterator[ShardIndex]:
    if not files:
        return
    threads = min(_REMOTE_THREADS if remote else min(_MAX_THREADS, 4 * (os.cpu_count() or 1)), len(files))
    step = max(1, min(_FILES_AT_ONCE, len(files) // (4 * threads)))
    parts = [files[first : first + step] for first in range(0, len(files), step)]
    with ThreadPoolExecutor(threads, thread_name_prefix="headrace-manifest") as pool:
        try:
            for indexes in pool.map(read, parts):
                yield from indexes
        except DataError:
            pool.shutdown(cancel_futures=True)
            raise


def _read(place: Place, column: str, listed: Listed, allowance: Allowance) -> ShardIndex:
    shard = open_shard(place, column=column, listed=listed, allowance=allowance)
    try:
        return shard.index() if isinstance(shard, IndexedShard) else ShardIndex.of(shard.table())
    finally:
        shard.close()
