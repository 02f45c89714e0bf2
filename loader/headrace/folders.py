"""One walk over a local folder, depth first in the order of names, so that the outcome is always the same."""

from __future__ import annotations

import difflib
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from headrace.errors import SourceError
from headrace.names import SHARDS, Kind, unwanted_name
from headrace.places import Listed


@dataclass(slots=True)
class Walk:
    """The files below a folder: `files` are taken in, `ignored` are (path, reason); paths relative to `root`.

    Symbolic links are followed; each real file and folder is visited once, so cycles end.
    """

    source: str
    root: Path
    kind: Kind = SHARDS
    files: list[Listed] = field(default_factory=list)
    ignored: list[tuple[str, str]] = field(default_factory=list)
    _seen: dict[tuple[int, int], str] = field(default_factory=dict)

    def folder(self, path: Path, relative: str, status: os.stat_result) -> None:
        """Takes in what is below `path`; raises SourceError where a folder can't be listed."""
        self._seen[status.st_dev, status.st_ino] = relative or "the source's folder"
        for entry in self._entries(path):
            name = f"{relative}{entry.name}"
            why = self._visit(entry, name)
            if why is not None:
                self.ignored.append((name, why))

    def _entries(self, path: Path) -> Iterator[os.DirEntry[str]]:
        try:
            with os.scandir(path) as entries:
                yield from sorted(entries, key=lambda entry: entry.name)
        except OSError as error:
            raise SourceError(
                f"source '{self.source}': folder {path} can't be listed ({error.strerror}); "
                "make it readable, or point the source at a folder without it"
            ) from error

    def _visit(self, entry: os.DirEntry[str], name: str) -> str | None:
        """Takes the entry in, or says why not."""
        why = unwanted_name(entry.name)
        if why is not None:
            return why
        try:
            status = entry.stat()
        except OSError as error:
            return f"broken link ({error.strerror})" if entry.is_symlink() else f"can't be read ({error.strerror})"
        is_folder = stat.S_ISDIR(status.st_mode)
        why = None if is_folder else _unwanted_file(entry.name, status, self.kind)
        first = self._seen.get((status.st_dev, status.st_ino))
        if why is None and first is not None:
            return f"same {'folder' if is_folder else 'file'} as {first}"
        if is_folder:
            self.folder(Path(entry.path), f"{name}/", status)
        elif why is None:
            self._file(name, status)
        return why

    def _file(self, name: str, status: os.stat_result) -> None:
        if any(0xD800 <= ord(letter) <= 0xDFFF for letter in name):  # a byte that os.fsdecode could not decode
            raise SourceError(
                f"source '{self.source}': {self.root} has a {self.kind.noun} named {name!r}; rename it to valid UTF-8"
            )
        self._seen[status.st_dev, status.st_ino] = name
        self.files.append(Listed(name, status.st_size, status.st_mtime_ns))


def _unwanted_file(name: str, status: os.stat_result, kind: Kind) -> str | None:
    if not stat.S_ISREG(status.st_mode):
        return "neither a file nor a folder"
    if not kind.takes(name):
        return f"no {kind.noun} by its extension"
    return "empty (0 bytes)" if status.st_size == 0 else None


def missing_path(root: Path, error: OSError) -> str:
    """What is wrong with a path that can't be looked at, with the closest name beside where it first goes astray."""
    if not isinstance(error, FileNotFoundError | NotADirectoryError):
        return f"{root} can't be read ({error.strerror}); check its permissions"
    if root.is_symlink():
        return f"{root} is a broken link to {root.readlink()}"
    wrong = root.absolute()
    while not wrong.parent.is_dir():
        wrong = wrong.parent
    try:
        siblings = sorted(path.name for path in wrong.parent.iterdir())
    except OSError:
        siblings = []
    close = difflib.get_close_matches(wrong.name, siblings, 1)
    hint = (
        f"the closest existing path is {wrong.parent / close[0]}" if close else f"nothing in {wrong.parent} is like it"
    )
    return f"{root} does not exist; {hint}"
