"""A lock on a file that ends with the process that holds it, however that process ends."""

from __future__ import annotations

import errno
import fcntl
import os
from pathlib import Path
from typing import ClassVar


class ProcessLock:
    """An exclusive advisory lock on `path`, which is created when missing.

    It is a POSIX record lock: gone when the process is, not inherited by forked children. Such locks do not conflict
    inside one process and are lost when any descriptor of the file is closed, so locks held here are kept in a table.
    `path` must be spelled the same by everyone in a process. The file is left behind.
    """

    _held: ClassVar[dict[tuple[int, Path], ProcessLock]] = {}

    def __init__(self, path: Path) -> None:
        self.path = path
        self._descriptor: int | None = None

    def acquire(self) -> bool:
        """Take the lock without waiting; True if this object holds it now. OSError where files can't be locked."""
        key = (os.getpid(), self.path)
        if self._held.setdefault(key, self) is not self:
            return False
        if self._descriptor is None:
            try:
                self._descriptor = _locked(self.path)
            finally:
                if self._descriptor is None:
                    del self._held[key]
        return self._descriptor is not None

    def release(self) -> None:
        """Give the lock up; nothing happens when it is not held."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None
            self._held.pop((os.getpid(), self.path), None)


def _locked(path: Path) -> int | None:
    """An open, locked descriptor of `path`, or None when another process has the lock."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        os.close(descriptor)
        if error.errno in (errno.EAGAIN, errno.EACCES):
            return None
        raise
    return descriptor
