"""Fetched ranges kept on this machine's disk, for all processes together within one limit of bytes.

A range is a file of its own under `HEADRACE_CACHE/blocks`: a magic, its length and a checksum, then its bytes. It is
written aside and renamed, so that no process ever sees half of one, and the checksum is held against what is read.
`total`, locked for the moment of each change, has the bytes in use: room is claimed there before anything is written,
so the limit holds however many processes write. When there is none left, the least recently used tenth goes. What a
killed process leaves aside is not locked any more, and removed by the next one that starts or makes room.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import secrets
import struct
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from io import BufferedWriter
from pathlib import Path
from typing import Final

import numpy as np

from headrace.cache import cache_root
from headrace.places.file import Memory

_HEADER: Final = struct.Struct("<16sQ16s24x")
_MAGIC: Final = b"HEADRACE RANGE 1"
_KEPT: Final = 0.9


class DiskCache:
    """Ranges by their key, on disk, up to `limit_bytes` in all. For several threads and processes."""

    def __init__(self, limit_bytes: int) -> None:
        self._limit = limit_bytes
        self._folder = cache_root() / "blocks"
        self._is_off = False
        self._told_too_large = False
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            with self._total() as total:
                self._make_room(total, 0)
        except OSError as error:
            self._give_up(error)

    def get(self, key: str, size: int) -> Memory | None:
        """The `size` bytes kept under `key`, uint8 (size,), or None where they are not, or not whole."""
        path = self._path(key)
        try:
            raw = path.read_bytes()
            os.utime(path)
        except OSError:
            return None
        body = memoryview(raw)[_HEADER.size :]
        if len(raw) == _HEADER.size + size and _HEADER.unpack_from(raw) == (_MAGIC, size, _digest(body)):
            return np.frombuffer(raw, np.uint8, offset=_HEADER.size)
        path.unlink(missing_ok=True)
        return None

    def put(self, key: str, content: Memory) -> None:
        """Keep `content` under `key`; warns once, and goes on without, where the disk is full or can't be written."""
        size = _HEADER.size + content.size
        if self._is_off or self._is_too_large(size):
            return
        path = self._path(key)
        try:
            if not path.exists():
                self._write(path, content, size)
        except OSError as error:
            self._give_up(error)

    def _write(self, path: Path, content: Memory, size: int) -> None:
        path.parent.mkdir(exist_ok=True)
        aside = path.with_name(f"{path.name}.{secrets.token_hex(8)}.tmp")
        try:
            file = self._claimed(aside, size)
            if file is not None:
                with file:
                    file.write(_HEADER.pack(_MAGIC, content.size, _digest(content.data)))
                    file.write(content.data)
                    file.flush()
                    aside.replace(path)
        except BaseException:
            aside.unlink(missing_ok=True)
            raise

    def _claimed(self, aside: Path, size: int) -> BufferedWriter | None:
        """The file aside, locked, and of its full size at once, so that whoever counts next counts all of it."""
        with self._total() as total:
            if not self._make_room(total, size):
                return None
            file = aside.open("xb")
            try:
                fcntl.flock(file, fcntl.LOCK_EX)
                file.truncate(size)
            except BaseException:
                file.close()
                raise
            return file

    def _path(self, key: str) -> Path:
        name = hashlib.blake2b(os.fsencode(key), digest_size=20).hexdigest()
        return self._folder / name[:2] / name[2:]

    def _is_too_large(self, size: int) -> bool:
        if size <= self._limit:
            return False
        if not self._told_too_large:
            self._told_too_large = True
            warnings.warn(
                f"disk_cache_bytes is {self._limit} and a block read from object storage has {size} bytes: blocks "
                "this large are not kept on disk; raise disk_cache_bytes, or set it to 0",
                RuntimeWarning,
                stacklevel=2,
            )
        return True

    def _give_up(self, error: OSError) -> None:
        if not self._is_off:
            self._is_off = True
            warnings.warn(
                f"the disk cache {self._folder} can't be written ({error.strerror or error}); going on without: free "
                "some disk, set HEADRACE_CACHE to a folder that can be written, or lower disk_cache_bytes",
                RuntimeWarning,
                stacklevel=3,
            )

    @contextmanager
    def _total(self) -> Iterator[int]:
        """The descriptor of the locked file that holds the bytes in use."""
        descriptor = os.open(self._folder / "total", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield descriptor
        finally:
            os.close(descriptor)

    def _make_room(self, total: int, size: int) -> bool:
        """Claims `size` bytes, first evicting where they don't fit; a `size` of 0 counts what is there anew.

        False where everything there is being written at this moment.
        """
        raw = os.pread(total, 8, 0)
        used = int.from_bytes(raw, "little")
        if size == 0 or len(raw) < 8 or used + size > self._limit:
            used = self._evict(size)
        fits = used + size <= self._limit
        os.pwrite(total, (used + size * fits).to_bytes(8, "little"), 0)
        return fits

    def _evict(self, size: int) -> int:
        """Removes left-overs, and the least recently used ranges until `size` bytes more fit; returns bytes in use."""
        held: list[tuple[int, int, Path]] = []
        for path in self._folder.glob("??/*"):
            try:
                status = path.stat()
                if path.suffix != ".tmp":
                    held.append((status.st_mtime_ns, status.st_size, path))
                elif not _remove_left_over(path):
                    held.append((_IN_USE, status.st_size, path))
            except FileNotFoundError:
                continue
        used = sum(one[1] for one in held)
        if used + size <= self._limit:
            return used
        for _, bytes_, path in sorted(held):
            if used + size <= self._limit * _KEPT or path.suffix == ".tmp":
                break
            path.unlink(missing_ok=True)
            used -= bytes_
        return used


_IN_USE: Final = 1 << 63


def _remove_left_over(path: Path) -> bool:
    """Removes a file aside whose writer is gone; False where it is being written."""
    with path.open("rb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        path.unlink(missing_ok=True)
        return True


def _digest(content: memoryview) -> bytes:
    return hashlib.blake2b(content, digest_size=16).digest()
