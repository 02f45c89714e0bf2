"""Objects on object storage: listed, verified and read by ranges, tried again where that may help."""

from __future__ import annotations

import datetime
import errno
import json
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Final

import numpy as np
from pyarrow import NativeFile, fs

from headrace.places.disk_cache import DiskCache
from headrace.places.file import ChangedError, Listed, Memory
from headrace.places.filesystem import LISTING_S, PATIENT_S, QUICK_S, file_system
from headrace.places.retry import retried

PIECE_BYTES: Final = 8 << 20
"""Bytes asked for at once; a longer range is read in pieces of this size, each tried again by itself."""


class Remote:
    """One store with one set of options; see `connect`. For several threads.

    `bytes_fetched` counts what came over the network.
    """

    def __init__(self, construct: Callable[[float], fs.FileSystem], identity: str, cache: DiskCache | None) -> None:
        self._construct = construct
        self._made: dict[float, fs.FileSystem] = {}
        self._lock = threading.Lock()
        self.identity = identity
        self.cache = cache
        self.bytes_fetched = 0
        self.stop = threading.Event()

    def files(self, stall_s: float) -> fs.FileSystem:
        """The file system that gives a request up after `stall_s` without a byte."""
        with self._lock:
            made = self._made.get(stall_s)
            if made is None:
                made = self._made[stall_s] = self._construct(stall_s)
            return made

    def file(self, name: str, path: str, listed: Listed | None) -> RemoteFile:
        """The object at `path`, called `name` in errors, as it was `listed`, or else as it is now; raises OSError."""
        if listed is not None:
            return RemoteFile(self, name, path, listed.size_bytes, listed.mtime_ns)
        info = retried(lambda _: self.files(LISTING_S).get_file_info(path), self.stop)
        if info.type == fs.FileType.NotFound:
            raise FileNotFoundError(errno.ENOENT, "there is no such object")
        if info.type != fs.FileType.File:
            raise IsADirectoryError(errno.EISDIR, "it is a prefix, not an object")
        return RemoteFile(self, name, path, info.size, info.mtime_ns)

    def listing(self, path: str) -> list[Listed]:
        """Every object below `path`, by one recursive listing, as paths relative to it, sorted.

        For an object itself, that object under an empty path; nothing where there is nothing. Raises OSError.
        """
        lister = self.files(LISTING_S)
        below = retried(
            lambda _: lister.get_file_info(fs.FileSelector(path, recursive=True, allow_not_found=True)), self.stop
        )
        prefix = f"{path}/"
        found = [
            Listed(info.path.removeprefix(prefix), info.size, info.mtime_ns)
            for info in below
            if info.size is not None  # a folder's is None, and that is much quicker to ask than its type
        ]
        if not found:
            info = retried(lambda _: lister.get_file_info(path), self.stop)
            return [Listed("", info.size, info.mtime_ns)] if info.type == fs.FileType.File else []
        return sorted(found, key=lambda one: one.path)

    def children(self, path: str) -> list[str]:
        """Names of what lies directly below `path`; nothing where that can't be listed."""
        try:
            below = self.files(LISTING_S).get_file_info(fs.FileSelector(path, allow_not_found=True))
        except OSError:
            return []
        return sorted(info.base_name for info in below)

    def write(self, path: str, content: bytes) -> None:
        """Writes an object, which appears whole, tried again as reads are; raises OSError."""

        def attempt(_: int) -> None:
            with self.files(LISTING_S).open_output_stream(path, compression=None) as stream:
                stream.write(content)

        retried(attempt, self.stop)

    def upload(self, file: Path, path: str) -> None:
        """Writes a local file as an object, which appears whole, tried again as reads are; raises OSError."""

        def attempt(_: int) -> None:
            with file.open("rb") as content, self.files(LISTING_S).open_output_stream(path, compression=None) as stream:
                while piece := content.read(PIECE_BYTES):
                    stream.write(piece)

        retried(attempt, self.stop)

    def move(self, path: str, to: str) -> None:
        """Gives an object another name, which appears whole; raises OSError."""
        retried(lambda _: self.files(LISTING_S).copy_file(path, to), self.stop)
        self.remove(path)

    def remove(self, path: str) -> None:
        """Removes an object, if it is there; raises OSError."""

        def attempt(_: int) -> None:
            with suppress(FileNotFoundError):
                self.files(LISTING_S).delete_file(path)

        retried(attempt, self.stop)

    def interrupt(self) -> None:
        """Lets nothing be tried again or begun until `resume`, so that readers end with the requests they are in."""
        self.stop.set()

    def resume(self) -> None:
        """What is asked for from now on is read; what was interrupted stays so."""
        self.stop = threading.Event()

    def count_fetched(self, size: int) -> None:
        """Adds to `bytes_fetched`."""
        with self._lock:
            self.bytes_fetched += size


@dataclass(slots=True)
class RemoteFile:
    """An object as it was listed; see `File`. It is looked at again before every read that goes over the network."""

    remote: Remote
    name: str
    path: str
    size_bytes: int
    mtime_ns: int | None
    _tag: bytes | None = field(default=None, init=False)
    "entity tag, once it is known"

    @property
    def identity(self) -> list[str | int | None]:
        """See `File.identity`."""
        return [self.remote.identity, self.name, self.size_bytes, self.mtime_ns]

    def check(self) -> None:
        """See `File.check`."""

    def read(self, start: int, size: int) -> Memory:
        """See `File.read`."""
        return self.read_ranges([(start, size)])[0]

    def read_ranges(self, ranges: list[tuple[int, int]]) -> list[Memory]:
        """See `File.read_ranges`."""
        reading = _Reading(self)
        parts: list[Memory] = []
        for start, size in ranges:
            key = json.dumps([*self.identity, start, size])
            part = None if self.remote.cache is None else self.remote.cache.get(key, size)
            if part is None:
                part = reading.fetch(start, size)
                if self.remote.cache is not None:
                    self.remote.cache.put(key, part)
            parts.append(part)
        return parts

    def open(self, stall_s: float) -> NativeFile:
        """The object opened, after a check that it is still the version that was listed; raises OSError."""
        try:
            handle = self.remote.files(stall_s).open_input_file(self.path)
        except FileNotFoundError as error:
            raise FileNotFoundError(errno.ENOENT, "it is gone since it was listed") from error
        found = handle.size()
        if found != self.size_bytes:
            raise ChangedError(f"changed from {self.size_bytes} to {found} bytes since it was listed")
        facts: dict[str, bytes] = dict(handle.metadata() or {})  # type: ignore[arg-type]  # its keys are str
        tag, modified = facts.get("ETag"), facts.get("Last-Modified")
        if self._tag is not None and tag != self._tag:
            raise ChangedError(f"changed since it was opened: its entity tag was {_text(self._tag)}, now {_text(tag)}")
        if modified is not None and self.mtime_ns is not None and not _is_same_second(modified, self.mtime_ns):
            raise ChangedError(f"was replaced at {_text(modified)}, after it was listed")
        self._tag = tag
        return handle


class _Reading:
    """An object being read: opened at the first range, and anew for every try after a failed one."""

    def __init__(self, file: RemoteFile) -> None:
        self._file = file
        self._handle: NativeFile | None = None

    def fetch(self, start: int, size: int) -> Memory:
        """One range, piece by piece."""
        remote = self._file.remote
        pieces: list[bytes] = []
        for first in range(start, start + size, PIECE_BYTES):
            piece = partial(self._piece, first, min(PIECE_BYTES, start + size - first))
            pieces.append(retried(piece, remote.stop))
        remote.count_fetched(size)
        return np.frombuffer(pieces[0] if len(pieces) == 1 else b"".join(pieces), np.uint8)

    def _piece(self, start: int, size: int, tries: int) -> bytes:
        if self._handle is None or tries:
            self._handle = None
            self._handle = self._file.open(PATIENT_S if tries else QUICK_S)
        content: bytes = self._handle.read_at(size, start)  # type: ignore[call-arg]  # the stub lacks the offset
        if len(content) != size:
            raise OSError(errno.EIO, f"{len(content)} bytes came where {size} were asked for at byte {start}")
        return content


def _text(value: bytes | None) -> str:
    return "none" if value is None else value.decode(errors="replace").strip('"')


def _is_same_second(modified: bytes, mtime_ns: int) -> bool:
    try:
        seen = datetime.datetime.fromisoformat(modified.decode())
    except ValueError:
        return True
    return int(seen.timestamp()) == mtime_ns // 1_000_000_000


def connect(scheme: str, path: str, options: str, disk_cache_bytes: int) -> tuple[Remote, str]:
    """The store that a URI names, and what `path` is called in it; nothing is asked of it yet.

    Raises SourceError for an option that is not known, or a bucket that can't be found.
    """
    construct, inside, identity = file_system(scheme, path, options)
    cache = DiskCache(disk_cache_bytes) if disk_cache_bytes else None
    return Remote(construct, f"{scheme}?{identity}", cache), inside
