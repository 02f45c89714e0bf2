"""One rank's end of the spool: appends records, each whole or not at all."""

from __future__ import annotations

import errno
import os
from pathlib import Path

from headrace.telemetry.description import Registration
from headrace.telemetry.spool import Spool

_MOST_SEGMENT_BYTES = 256 << 10
_LEAST_SEGMENT_BYTES = 4 << 10


class SpoolWriter:
    """Appends the records of one rank of one attempt to segments in its spool; for one thread."""

    def __init__(self, spool: Spool, registration: Registration, rank: int) -> None:
        self.dropped = 0
        "records that this writer had to delete to stay within the byte limit"
        self._spool = spool
        self._registration = registration
        self._rank = rank
        self._lock = spool.rank_lock(registration.attempt_id, rank)
        self._segment_bytes = min(max(spool.most_bytes // 64, _LEAST_SEGMENT_BYTES), _MOST_SEGMENT_BYTES)
        self._number = 0
        self._path: Path | None = None
        self._descriptor = -1
        self._size = 0

    def append(self, line: bytes) -> None:
        """Add one record, without its newline. Raises OSError, and then nothing was added."""
        if self._path is not None and os.fstat(self._descriptor).st_nlink == 0:  # somebody cleaned the cache
            os.close(self._descriptor)
            self._path = None
        if self._path is None:
            self._path = self._open()
        content = line + b"\n"
        written = os.write(self._descriptor, content)
        if written < len(content):
            self._take_back()
            raise OSError(errno.ENOSPC, "no room for a whole record", str(self._path))
        self._size += written
        if self._size >= self._segment_bytes:
            self._seal()

    def close(self) -> None:
        """Seal what is open, and let go of the rank's place in the spool."""
        self._seal()
        self._lock.release()

    def _open(self) -> Path:
        self.dropped += self._spool.enforce_limit()
        directory = self._spool.register(self._registration)
        self._lock.acquire()
        path = directory / f"{self._rank:05}-{self._number:06}.open"
        self._number += 1
        self._descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC, 0o600)
        self._size = 0
        return path

    def _take_back(self) -> None:
        """Undo half a record; where that fails the segment ends there, and readers skip its torn end."""
        try:
            os.ftruncate(self._descriptor, self._size)
        except OSError:
            self._seal()

    def _seal(self) -> None:
        if self._path is not None:
            path, self._path = self._path, None
            os.close(self._descriptor)
            path.rename(path.with_suffix(".jsonl"))
