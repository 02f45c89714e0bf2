"""The folder of shards, on disk or on object storage: files that are whole, moved to their names, and one owner."""

from __future__ import annotations

import fcntl
import json
import os
import secrets
import socket
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any, Final, Protocol

import psutil

from headrace.errors import ConfigError
from headrace.formats.whole import sync_folder, whole_file
from headrace.places import Place, parse_place
from headrace.places.remote import Remote

STATE: Final = "_tokenize"
"""The folder of what only this command reads; the loader looks at nothing below it."""
SCRATCH: Final = f"{STATE}/scratch"
LOCK: Final = f"{STATE}/lock"
CLAIMS: Final = f"{STATE}/claims"


class Folder(Protocol):
    """Names are relative, with forward slashes. Every method raises OSError where the disk or the store fails."""

    def read(self, name: str) -> bytes | None:
        """The content of a file; None where there is none."""

    def write(self, name: str, content: bytes) -> None:
        """Puts a file there, whole and durably, in place of one of that name."""

    def sizes(self, below: str = "") -> dict[str, int]:
        """Bytes of every file below a folder, by name; unfinished ones are not among them."""

    def move(self, name: str, to: str) -> None:
        """Gives a file another name, durably."""

    def remove(self, name: str) -> None:
        """Removes a file, if it is there."""

    @contextmanager
    def scratch(self) -> Iterator[Path]:
        """A local folder to make shards in."""
        yield Path()

    def keep(self, path: Path, name: str) -> None:
        """Puts a whole file of `scratch` there as `name`, durably."""

    @contextmanager
    def owned(self) -> Iterator[None]:
        """This process has the folder to itself inside; raises ConfigError, naming the owner, where another has it."""
        yield


def open_folder(name: str) -> Folder:
    """The folder at a local path or URI; nothing is made yet. Raises SourceError for a URI that can't be."""
    place = parse_place(name)
    return LocalFolder(Path(os.path.abspath(place.path))) if place.remote is None else RemoteFolder(place)  # noqa: PTH100


class LocalFolder:
    """See `Folder`. Its owner is who holds a lock on a file in it, which ends with the process, however it ends."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def read(self, name: str) -> bytes | None:
        """See `Folder.read`."""
        with suppress(FileNotFoundError):
            return (self._root / name).read_bytes()
        return None

    def write(self, name: str, content: bytes) -> None:
        """See `Folder.write`."""
        self._made(name)
        with whole_file(self._root / name, durable=True) as file:
            file.write(content)

    def sizes(self, below: str = "") -> dict[str, int]:
        """See `Folder.sizes`."""
        found: dict[str, int] = {}
        for folder, _, files in os.walk(self._root / below):
            for file in files:
                path = Path(folder, file)
                if not file.endswith(".tmp"):
                    with suppress(FileNotFoundError):
                        found[path.relative_to(self._root).as_posix()] = path.stat().st_size
        return found

    def move(self, name: str, to: str) -> None:
        """See `Folder.move`."""
        self._made(to)
        (self._root / name).replace(self._root / to)
        sync_folder((self._root / to).parent)

    def remove(self, name: str) -> None:
        """See `Folder.remove`."""
        (self._root / name).unlink(missing_ok=True)

    @contextmanager
    def scratch(self) -> Iterator[Path]:
        """See `Folder.scratch`: on the same disk, and nothing in it outlives the next owner."""
        folder = self._root / SCRATCH
        folder.mkdir(parents=True, exist_ok=True)
        yield folder

    def keep(self, path: Path, name: str) -> None:
        """See `Folder.keep`; who wrote the file has put it on disk."""
        self._made(name)
        path.replace(self._root / name)
        sync_folder((self._root / name).parent)

    @contextmanager
    def owned(self) -> Iterator[None]:
        """See `Folder.owned`; what killed runs left unfinished is removed."""
        try:
            self._made(LOCK)
            file = (self._root / LOCK).open("a+")
        except OSError as error:
            raise ConfigError(f"{self._root} can't be written ({error.strerror}); name another folder by -o") from error
        with file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as error:
                file.seek(0)
                raise ConfigError(
                    f"another run is writing to {self._root} ({file.read().strip() or 'just begun'}); let it end, or "
                    "name another folder by -o"
                ) from error
            file.truncate(0)
            file.write(_owner())
            file.flush()
            self._clear()
            try:
                yield
            finally:
                self._clear()

    def _clear(self) -> None:
        """Removes what workers that were killed left unfinished."""
        state, scratch = (self._root / STATE).rglob("*.tmp"), (self._root / SCRATCH).glob("*")
        for unfinished in [*self._root.glob(".*.tmp"), *state, *scratch]:
            unfinished.unlink(missing_ok=True)

    def _made(self, name: str) -> None:
        (self._root / name).parent.mkdir(parents=True, exist_ok=True)


class RemoteFolder:
    """See `Folder`. Its owner is who put the only claim there.

    A claim is written, then all are listed: stores whose listings show what was written before them (S3, GCS, Azure and
    their kin) let at most one of two runs find itself alone. A claim whose process on this machine is gone counts for
    nothing; another machine's has to be removed by hand.
    """

    def __init__(self, place: Place) -> None:
        assert place.remote is not None
        self._place = place
        self._remote: Remote = place.remote

    def read(self, name: str) -> bytes | None:
        """See `Folder.read`."""
        try:
            file = (self._place / name).open()
        except FileNotFoundError:
            return None
        return file.read(0, file.size_bytes).tobytes()

    def write(self, name: str, content: bytes) -> None:
        """See `Folder.write`."""
        self._remote.write((self._place / name).path, content)

    def sizes(self, below: str = "") -> dict[str, int]:
        """See `Folder.sizes`."""
        prefix = f"{below}/" if below else ""
        place = self._place / below if below else self._place
        return {prefix + one.path: one.size_bytes for one in self._remote.listing(place.path) if one.path}

    def move(self, name: str, to: str) -> None:
        """See `Folder.move`."""
        self._remote.move((self._place / name).path, (self._place / to).path)

    def remove(self, name: str) -> None:
        """See `Folder.remove`."""
        self._remote.remove((self._place / name).path)

    @contextmanager
    def scratch(self) -> Iterator[Path]:
        """See `Folder.scratch`: on this machine's disk."""
        with tempfile.TemporaryDirectory(prefix="headrace-tokenize-") as folder:
            yield Path(folder)

    def keep(self, path: Path, name: str) -> None:
        """See `Folder.keep`."""
        self._remote.upload(path, (self._place / name).path)
        path.unlink()

    @contextmanager
    def owned(self) -> Iterator[None]:
        """See `Folder.owned`."""
        own = f"{CLAIMS}/{secrets.token_hex(8)}.json"
        claim = {"host": socket.gethostname(), "pid": os.getpid(), "started": _started(os.getpid()), "by": _owner()}
        with ExitStack() as stack:
            try:
                self.write(own, json.dumps(claim).encode())
                stack.callback(self.remove, own)
                others = [name for name in self.sizes(CLAIMS) if name != own]
            except OSError as error:
                raise ConfigError(
                    f"{self._place} can't be written ({error.strerror or error}); check the name of the bucket and the "
                    "credentials of this machine"
                ) from error
            for name in others:
                found = _claim(self.read(name))
                if found is not None and not _is_over(found):
                    raise ConfigError(
                        f"another run is writing to {self._place} ({found.get('by')}); let it end, or, where it "
                        f"surely has, remove {self._place / name}"
                    )
                self.remove(name)
            yield


def _owner() -> str:
    return (
        f"process {os.getpid()} on {socket.gethostname()} since {time.strftime('%Y-%m-%d %H:%M:%S UTC', time.gmtime())}"
    )


def _claim(content: bytes | None) -> dict[str, Any] | None:
    """A claim; None where it was taken back meanwhile."""
    return None if content is None else dict(json.loads(content))


def _is_over(claim: dict[str, Any]) -> bool:
    """Whether the process of a claim is one of this machine that has ended."""
    return bool(claim["host"] == socket.gethostname()) and _started(int(claim["pid"])) != claim["started"]


def _started(pid: int) -> float | None:
    try:
        return psutil.Process(pid).create_time()
    except psutil.Error:
        return None
