"""The shards of a source that are open: opened when first needed, a bounded number at a time."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from headrace.formats import ShardFile
from headrace.manifest import SourceManifest

MAX_OPEN_SHARDS = 256
"shards a source may have open beyond those in use; blocks in use keep their own mapping alive"


@dataclass(slots=True)
class _Open:
    file: ShardFile
    num_users: int = 0


class OpenShards:
    """Open shards of one source, least recently used first. For several threads."""

    def __init__(self, manifest: SourceManifest) -> None:
        self._manifest = manifest
        self._open: OrderedDict[int, _Open] = OrderedDict()
        self._lock = threading.Lock()

    @contextmanager
    def used(self, shard: int) -> Iterator[ShardFile]:
        """Shard number `shard`, open until the block ends; raises as `SourceManifest.open_shard`."""
        with self._lock:
            held = self._open.get(shard)
            if held is not None:
                held.num_users += 1
                self._open.move_to_end(shard)
        if held is None:
            held = self._add(shard, self._manifest.open_shard(shard))
        try:
            yield held.file
        finally:
            with self._lock:
                held.num_users -= 1

    def close(self) -> None:
        """Close every shard."""
        with self._lock:
            while self._open:
                self._open.popitem()[1].file.close()

    def _add(self, shard: int, file: ShardFile) -> _Open:
        """Take in a shard that was opened, unless another thread was quicker."""
        with self._lock:
            known = self._open.get(shard)
            if known is not None:
                file.close()
                known.num_users += 1
                return known
            idle = [number for number, one in self._open.items() if one.num_users == 0]
            for number in idle[: max(0, len(self._open) - MAX_OPEN_SHARDS + 1)]:
                self._open.pop(number).file.close()
            opened = self._open[shard] = _Open(file, 1)
            return opened
