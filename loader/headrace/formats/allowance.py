"""How much of a source on object storage may be counted at start before an index is asked for."""

from __future__ import annotations

import threading

from headrace.errors import SourceError


class Allowance:
    """Record batches that may still be counted; None: any number. For several threads."""

    def __init__(self, num_batches: int | None) -> None:
        self._limit = num_batches
        self._used = 0
        self._lock = threading.Lock()

    def take(self, name: str, num_batches: int) -> None:
        """Uses up so many for the shard called `name`; raises SourceError, with the way out, where that is too many."""
        with self._lock:
            self._used += num_batches
            if self._limit is not None and self._used > self._limit:
                raise SourceError(
                    f"{name}: more than {self._limit} record batches without counts on object storage, which would "
                    "have to be looked through at every start of every node; run `headrace index PATH -o "
                    'manifest.parquet` once and give the source index="manifest.parquet"'
                )


UNLIMITED = Allowance(None)
