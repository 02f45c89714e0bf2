"""What a file's name says: whether it may be a shard, and of whose format. Content decides when it is opened."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from importlib.metadata import EntryPoint, entry_points
from typing import Final

from headrace.errors import ConfigError

EXTENSIONS: Final = (".arrow", ".feather", ".ipc", ".parquet")
FORMATS_GROUP: Final = "headrace.formats"
"""The group of entry points that bring further formats; each is named by the extension that it claims."""

_UNFINISHED: Final = (".tmp", ".temp", ".part", ".partial", ".inprogress", ".crc", ".swp", ".bak", ".lock", "~")


def unwanted_name(name: str) -> str | None:
    """Why a file or folder of this name, without its path, is never looked at; None where it may be a shard."""
    if name.startswith("."):
        return "hidden"
    if name.startswith("_"):
        return "starts with an underscore"
    return "temporary or helper file" if name.lower().endswith(_UNFINISHED) else None


def wanted_extension(name: str) -> bool:
    """Whether the end of a file's name is that of a shard, of Headrace's formats or of an installed one."""
    return name.lower().endswith(EXTENSIONS) or claim_of(name) is not None


@dataclass(frozen=True, slots=True)
class Kind:
    """What a listing looks for: `noun` is what messages call such a file, `wanted` says what a source is."""

    noun: str
    takes: Callable[[str], bool]
    "whether a file of this name, without its path, is one"
    wanted: str


SHARDS: Final = Kind(
    "shard", wanted_extension, f"a source is a folder with files ending in {', '.join(EXTENSIONS)}, or one such file"
)


def claim_of(name: str) -> EntryPoint | None:
    """The installed format that claims files of this name, not yet imported; raises ConfigError where two do."""
    if name.lower().endswith(EXTENSIONS):
        return None
    parts = name.lower().split(".")
    # The longest extension first: `.tok.gz` before `.gz`.
    return next((found for n in range(1, len(parts)) if (found := claims().get(".".join(parts[n:])))), None)


@lru_cache(maxsize=1)
def claims() -> dict[str, EntryPoint]:
    """Installed formats by the extension that each claims, in lower case and without its dot.

    Raises ConfigError, naming the packages, where two claim one extension, or one of Headrace's own.
    """
    found: dict[str, EntryPoint] = {}
    for point in entry_points(group=FORMATS_GROUP):
        extension = point.name.lower().lstrip(".")
        if f".{extension}" in EXTENSIONS:
            raise ConfigError(
                f"{_owner(point)} claims the extension .{extension}, which Headrace reads itself; name its entry point "
                f"in {FORMATS_GROUP} after another"
            )
        if extension in found and found[extension].value != point.value:
            raise ConfigError(
                f"{_owner(found[extension])} and {_owner(point)} both claim the extension .{extension}; uninstall one"
            )
        found[extension] = point
    return found


def _owner(point: EntryPoint) -> str:
    return f"package '{point.dist.name}'" if point.dist is not None else point.value
