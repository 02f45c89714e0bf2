"""Which files hold the text: what was named, what lies below it, or what a glob matches, each with size and time."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Final

from headrace.discovery import Found, discover
from headrace.errors import ConfigError, SourceError
from headrace.names import Kind
from headrace.patterns import path_pattern
from headrace.places import Place, parse_place

COLUMNS: Final = (".parquet", ".arrow", ".feather", ".ipc")
LINES: Final = (".jsonl", ".ndjson", ".json")
PLAIN: Final = (".txt", ".text", ".md")
COMPRESSED: Final = (".gz", ".zst", ".zstd")
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_GLOB: Final = re.compile(r"[*?]")
_OPTIONS: Final = re.compile(r"\?[A-Za-z_]+=[^?]*$")


@dataclass(frozen=True, slots=True)
class Asked:
    """One INPUT as the user wrote it: the source it belongs to (empty: none was named) and where it is."""

    source: str
    path: str


@dataclass(frozen=True, slots=True)
class Input:
    """One file of text: `path` below `root`, which is a local folder or a URI with its options."""

    source: str
    root: str
    path: str
    size_bytes: int
    mtime_ns: int | None

    @property
    def place(self) -> Place:
        """Where it is."""
        return _root(self.root) / self.path

    @property
    def name(self) -> str:
        """Its full name, an absolute path or a URI without options."""
        return str(self.place)


@dataclass(frozen=True, slots=True)
class Listing:
    """All inputs, each once, sorted by source and name; and what was left out, (full name, reason)."""

    inputs: tuple[Input, ...]
    ignored: tuple[tuple[str, str], ...]


def bare(name: str) -> str:
    """A file's name in lower case, without the ending of its compression."""
    lower = name.lower()
    for ending in COMPRESSED:
        if lower.endswith(ending):
            return lower.removesuffix(ending)
    return lower


def _is_text(name: str) -> bool:
    return bare(name).endswith((*LINES, *PLAIN)) or name.lower().endswith(COLUMNS)


TEXT: Final = Kind(
    "text file",
    _is_text,
    f"an input is a file, a glob, or a folder with files ending in {', '.join((*COLUMNS, *LINES, *PLAIN))}, where text "
    "may be .gz or .zst",
)
_ANY: Final = Kind("file", lambda name: True, TEXT.wanted)


def parse_input(text: str) -> Asked:
    """Reads `[NAME=]PATH`; `=` after a `/` belongs to the path.

    Raises ConfigError for an empty one, and for a name no folder can have.
    """
    if not text:
        raise ConfigError("an input is empty; name a file, a folder or a glob of text")
    name, equals, path = text.partition("=")
    if not equals or "/" in name or _GLOB.search(name):
        return Asked("", text)
    if not _NAME.fullmatch(name):
        raise ConfigError(
            f"input {text!r} names the source {name!r}; a name has letters, digits, '-', '_' and '.', and begins with "
            "a letter or a digit"
        )
    if not path:
        raise ConfigError(f"input {text!r} has a name and no path; write NAME=PATH")
    return Asked(name, path)


def list_inputs(asked: Sequence[Asked]) -> Listing:
    """Lists what was asked for.

    Raises SourceError, naming the input, when there is nothing at it or no text, and ConfigError when one file belongs
    to two sources, or only some inputs have a name.
    """
    if not asked:
        raise ConfigError("no input; name a file, a folder or a glob of text")
    if len({bool(one.source) for one in asked}) > 1:
        unnamed = next(one.path for one in asked if not one.source)
        raise ConfigError(
            f"input {unnamed} has no name and others have: name all, as in web={unnamed}, or none; each name is a "
            "folder of shards"
        )
    found: dict[str, Input] = {}
    ignored: dict[str, str] = {}
    for one in asked:
        inputs, left_out = _list(one)
        ignored |= left_out
        for item in inputs:
            first = found.setdefault(item.name, item)
            if first.source != item.source:
                raise ConfigError(f"{item.name} belongs to both {first.source!r} and {item.source!r}; give it to one")
    ordered = sorted(found.values(), key=lambda item: (item.source, item.name))
    return Listing(tuple(ordered), tuple(sorted((name, why) for name, why in ignored.items() if name not in found)))


def _list(asked: Asked) -> tuple[list[Input], dict[str, str]]:
    base, options = _split(asked.path)
    label = asked.source or base
    if not _GLOB.search(base) or ("://" not in base and Path(base).exists()):
        return _taken(asked.source, discover(label, parse_place(base + options), kind=TEXT), options)
    parts = base.split("/")
    depth = next(number for number, part in enumerate(parts) if _GLOB.search(part))
    root = "/".join(parts[:depth]) or ("/" if base.startswith("/") else ".")
    found = discover(label, parse_place(root + options), kind=_ANY, may_be_empty=True)
    accepts = path_pattern("/".join(parts[depth:]))
    kept = tuple(file for file in found.files if accepts.fullmatch(file.path))
    if not kept:
        raise SourceError(
            f"{base} matches none of the {len(found.files)} files below {found.root}; `*` and `?` stay within a name, "
            "`**` is any folders"
        )
    dropped = tuple((path, why) for path, why in found.ignored if accepts.fullmatch(path))
    return _taken(asked.source, Found(found.root, kept, dropped), options)


def _taken(source: str, found: Found, options: str) -> tuple[list[Input], dict[str, str]]:
    root = f"{found.root}{options}" if found.root.remote is not None else os.path.abspath(found.root.path)  # noqa: PTH100
    inputs = [Input(source, root, file.path, file.size_bytes, file.mtime_ns) for file in found.files]
    return inputs, {str(_root(root) / path): why for path, why in found.ignored}


def _split(path: str) -> tuple[str, str]:
    """A URI without its options, and those from the `?` on."""
    options = _OPTIONS.search(path) if "://" in path else None
    return (path, "") if options is None else (path[: options.start()], options[0])


@lru_cache(maxsize=64)
def _root(root: str) -> Place:
    return parse_place(root)
