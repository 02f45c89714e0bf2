"""Which files under a path, or objects under a prefix, are a source's shards, and why the others are not.

Names decide here, content decides when a shard is opened. `=` in a name means nothing, and neither does anything else.
"""

from __future__ import annotations

import difflib
import os
import stat
from dataclasses import dataclass
from pathlib import Path

from headrace.errors import SourceError
from headrace.folders import Walk, missing_path
from headrace.names import SHARDS, Kind, unwanted_name
from headrace.places import Listed, Place, parse_place


@dataclass(frozen=True, slots=True)
class Found:
    """The shards of a source: `files`, and `ignored` with the reason, both sorted by path.

    Paths are relative to `root`, with forward slashes.
    """

    root: Place
    files: tuple[Listed, ...]
    ignored: tuple[tuple[str, str], ...]


def discover(
    source: str, root: Place | Path | str, *, disk_cache_bytes: int = 0, kind: Kind = SHARDS, may_be_empty: bool = False
) -> Found:
    """The shards of `source` at `root`: one file, whatever its name, or all below a folder or prefix.

    The outcome does not depend on the order in which a file system lists. `disk_cache_bytes` is what `parse_place`
    takes; `kind` is what is looked for in place of shards. Raises SourceError, naming the source and the place, when
    there is nothing at `root`, it can't be listed, or, unless it `may_be_empty`, no shard is found.
    """
    try:
        place = root if isinstance(root, Place) else parse_place(root, disk_cache_bytes=disk_cache_bytes)
    except SourceError as error:
        raise SourceError(f"source '{source}': {error}") from error
    found = _local(source, place, kind) if place.remote is None else _remote(source, place, kind)
    if not found.files and not may_be_empty:
        raise SourceError(
            f"source '{source}': {place} holds no {kind.noun}s ({_summary(found.ignored)}); {kind.wanted}"
        )
    return found


def _local(source: str, place: Place, kind: Kind) -> Found:
    root = Path(place.path)
    try:
        status = root.stat()
    except OSError as error:
        raise SourceError(f"source '{source}': {missing_path(root, error)}") from error
    if not stat.S_ISDIR(status.st_mode):
        return _single_file(source, place, status, kind)
    walk = Walk(source, root, kind)
    walk.folder(root, "", status)
    return Found(place, tuple(sorted(walk.files, key=_path)), tuple(sorted(walk.ignored)))


def _single_file(source: str, place: Place, status: os.stat_result, kind: Kind) -> Found:
    if not stat.S_ISREG(status.st_mode) or status.st_size == 0:
        what = "is empty (0 bytes)" if stat.S_ISREG(status.st_mode) else "is neither a file nor a folder"
        raise SourceError(f"source '{source}': {place} {what}; {kind.wanted}")
    path = Path(place.path)
    parent = Place(str(path.parent), str(path.parent))
    return Found(parent, (Listed(path.name, status.st_size, status.st_mtime_ns),), ())


def _remote(source: str, place: Place, kind: Kind) -> Found:
    assert place.remote is not None
    try:
        objects = place.remote.listing(place.path)
    except OSError as error:
        raise SourceError(
            f"source '{source}': {place} can't be listed ({error.strerror or error}); check the name of the bucket, "
            "the credentials of this machine and the network"
        ) from error
    if not objects:
        raise SourceError(f"source '{source}': {_missing_prefix(place)}")
    if [one.path for one in objects] == [""]:
        if objects[0].size_bytes == 0:
            raise SourceError(f"source '{source}': {place} is empty (0 bytes); {kind.wanted}")
        return Found(place.parent, (Listed(place.base, objects[0].size_bytes, objects[0].mtime_ns),), ())
    files: list[Listed] = []
    ignored: dict[str, str] = {}
    for one in objects:
        path, why = _unwanted_object(one, kind)
        if why is not None:
            ignored[path] = why
        elif "//" in f"/{one.path}":
            raise SourceError(
                f"source '{source}': {place} has an object named {one.path!r}; names with an empty part between "
                "slashes can't be read: rename it"
            )
        else:
            files.append(one)
    return Found(place, tuple(files), tuple(sorted(ignored.items())))


def _unwanted_object(one: Listed, kind: Kind) -> tuple[str, str | None]:
    """The object, or the prefix of it that is at fault, and why it is none of those wanted; None where it is."""
    parts = one.path.split("/")
    for number, part in enumerate(parts, start=1):
        why = unwanted_name(part)
        if why is not None:
            return "/".join(parts[:number]), why
    if not kind.takes(parts[-1]):
        return one.path, f"no {kind.noun} by its extension"
    return one.path, "empty (0 bytes)" if one.size_bytes == 0 else None


def _missing_prefix(place: Place) -> str:
    """What to say of a prefix with nothing below it, with the closest name beside where it first goes astray."""
    assert place.remote is not None
    wrong, siblings = place, place.remote.children(place.parent.path)
    while not siblings and "/" in wrong.parent.path:
        wrong = wrong.parent
        siblings = place.remote.children(wrong.parent.path)
    if not siblings:
        return (
            f"{place} does not exist: bucket '{place.path.partition('/')[0]}' is empty, or there is none of that name"
        )
    close = difflib.get_close_matches(wrong.base, siblings, 1)
    if not close:
        return f"{place} does not exist; nothing in {wrong.parent} is like it"
    return f"{place} does not exist; the closest existing path is {wrong.parent / close[0]}"


def _path(one: Listed) -> str:
    return one.path


def _summary(ignored: tuple[tuple[str, str], ...]) -> str:
    if not ignored:
        return "it is empty"
    shown = "; ".join(f"{path}: {why}" for path, why in ignored[:3])
    return f"{len(ignored)} ignored, such as {shown}"
