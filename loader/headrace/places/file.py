"""What an opened file offers, wherever it lies, and local files, which are mapped."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np
import numpy.typing as npt

from headrace.places.mapped import map_file

Memory = npt.NDArray[np.uint8]


class ChangedError(OSError):
    """A file that is no longer the one that was listed or opened; never tried again."""


@dataclass(frozen=True, slots=True)
class Listed:
    """A file as a listing has it: `path` relative to its source, bytes, and time of change (ns), None where unknown."""

    path: str
    size_bytes: int
    mtime_ns: int | None = None


class File(Protocol):
    """One version of a file or object. Every method may be called from several threads at once."""

    @property
    def name(self) -> str:
        """Its full name, for errors."""

    @property
    def size_bytes(self) -> int:
        """Its size when it was listed or opened."""

    @property
    def identity(self) -> list[str | int | None]:
        """What tells this version of this file from every other: where it lies, size, time of change."""

    def check(self) -> None:
        """Raises ChangedError when a local file no longer has its size, OSError when it is gone.

        An object is looked at whenever it is read.
        """

    def read(self, start: int, size: int) -> Memory:
        """uint8 (size,): the bytes from `start` on, read-only; raises ChangedError or OSError."""

    def read_ranges(self, ranges: list[tuple[int, int]]) -> list[Memory]:
        """`read` for each (start, size)."""


@dataclass(frozen=True, slots=True)
class LocalFile:
    """A file on this machine or a mounted file system; see `File`."""

    name: str
    path: Path
    size_bytes: int
    mtime_ns: int

    @classmethod
    def open(cls, name: str, path: Path) -> LocalFile:
        """The file at `path` as it is now; raises OSError."""
        status = path.stat()
        return cls(name, path, status.st_size, status.st_mtime_ns)

    @property
    def identity(self) -> list[str | int | None]:
        """See `File.identity`."""
        return [os.fspath(self.path.absolute()), self.size_bytes, self.mtime_ns]

    def check(self) -> None:
        """See `File.check`."""
        size_bytes = self.path.stat().st_size
        if size_bytes != self.size_bytes:
            raise ChangedError(f"changed from {self.size_bytes} to {size_bytes} bytes since it was opened")

    def read(self, start: int, size: int) -> Memory:
        """See `File.read`."""
        return self.read_ranges([(start, size)])[0]

    def read_ranges(self, ranges: list[tuple[int, int]]) -> list[Memory]:
        """See `File.read_ranges`."""
        descriptor = os.open(self.path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            found = os.fstat(descriptor).st_size
            if found != self.size_bytes:
                raise ChangedError(f"changed from {self.size_bytes} to {found} bytes since it was opened")
            return [_pread(descriptor, start, size) for start, size in ranges]
        finally:
            os.close(descriptor)

    def map(self) -> Memory:
        """All of it, uint8 (size,), as a read-only map; raises OSError."""
        return map_file(self.path)


def _pread(descriptor: int, start: int, size: int) -> Memory:
    parts: list[bytes] = []
    while size > 0:
        part = os.pread(descriptor, size, start)
        if not part:
            raise ChangedError(f"ends at byte {start}, {size} bytes too early")
        parts.append(part)
        start, size = start + len(part), size - len(part)
    return np.frombuffer(parts[0] if len(parts) == 1 else b"".join(parts), np.uint8)
