"""Names of places: a local path, or the URI of an object or of a prefix of objects.

A name is taken as it is written. `=`, spaces, `%`, `#` and letters of any alphabet mean nothing in it; only what
follows the last `?` of a URI, where it reads `option=value&…`, is options.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

from headrace.errors import SourceError
from headrace.places.file import File, Listed, LocalFile

if TYPE_CHECKING:
    from headrace.places.remote import Remote

REMOTE_SCHEMES: Final = ("s3", "gs", "gcs", "abfs", "abfss", "az")
_URI: Final = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://(.*)", re.DOTALL)
_OPTIONS: Final = re.compile(r"[A-Za-z_]+=[^&?]*(?:&[A-Za-z_]+=[^&?]*)*")


@dataclass(frozen=True, slots=True)
class Place:
    """A file or folder, or an object or prefix; `str()` of it is its full name.

    `path` is what its file system calls it: a local path, or bucket and key. `remote` is None for local ones.
    """

    name: str
    path: str
    remote: Remote | None = field(default=None, compare=False, repr=False)

    def __str__(self) -> str:
        return self.name

    def __truediv__(self, relative: str) -> Place:
        """What `relative`, with forward slashes, is called below this place."""
        return Place(f"{self.name.rstrip('/')}/{relative}", f"{self.path.rstrip('/')}/{relative}", self.remote)

    def __fspath__(self) -> str:
        """The local path; raises SourceError for a place on object storage."""
        if self.remote is not None:
            raise SourceError(f"{self.name} is on object storage; this needs a local path: copy it first")
        return self.path

    @property
    def parent(self) -> Place:
        """The folder or prefix that it is in."""
        return Place(self.name.rstrip("/").rpartition("/")[0], self.path.rstrip("/").rpartition("/")[0], self.remote)

    @property
    def base(self) -> str:
        """The last part of its name."""
        return self.path.rstrip("/").rpartition("/")[2]

    def open(self, listed: Listed | None = None) -> File:
        """The file here, without its content; with `listed`, later reads hold it against that.

        A local file's size and time are looked up in any case, an object's only without `listed`. Raises OSError.
        """
        if self.remote is None:
            return LocalFile.open(self.name, Path(self.path))
        return self.remote.file(self.name, self.path, listed)


def parse_place(text: str | os.PathLike[str], *, disk_cache_bytes: int = 0) -> Place:
    """The place that a user wrote; no I/O, and nothing heavy is imported for a local one.

    With `disk_cache_bytes`, ranges read from object storage are kept on this machine's disk, up to so many bytes.
    Raises SourceError for a scheme or an option that is not known, and for a URI that holds a password.
    """
    written = os.fspath(text)
    match = _URI.fullmatch(written)
    if match is None:
        return Place(written, written)
    scheme, rest = match[1].lower(), match[2]
    if scheme == "file":
        return _local(written, rest)
    if scheme not in REMOTE_SCHEMES:
        raise SourceError(
            f"{written} has the unknown scheme '{match[1]}'; known are {', '.join(REMOTE_SCHEMES)} and file, and local "
            "paths have none"
        )
    path, mark, options = rest.rpartition("?")
    if not mark or not _OPTIONS.fullmatch(options):
        path, options = rest, ""
    from headrace.places.remote import connect  # noqa: PLC0415  # pyarrow costs 60 ms, and only this needs it

    remote, inside = connect(scheme, path.rstrip("/"), options, disk_cache_bytes)
    return Place(f"{match[1]}://{path.rstrip('/')}", inside, remote)


def _local(written: str, rest: str) -> Place:
    path = rest.removeprefix("localhost")
    if not path.startswith("/"):
        raise SourceError(f"{written} names a host; a file URI has three slashes, as in file:///data/web")
    return Place(path, path)
