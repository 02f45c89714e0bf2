"""What a run's shards were, remembered by the fingerprint in its checkpoints, to name what differs on resume."""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from headrace.cache import cache_root
from headrace.formats.whole import whole_file

_KEPT: Final = 256
_SHOWN: Final = 3


@dataclass(frozen=True, slots=True)
class Known:
    """One shard: its path relative to the source and its bytes; rows and tokens, None where they are not known."""

    path: str
    size_bytes: int
    num_rows: int | None = None
    num_tokens: int | None = None


def remember_listing(fingerprint: str, shards: Iterable[Known]) -> None:
    """Keeps the listing under `HEADRACE_CACHE`, and forgets the oldest; never raises for want of disk."""
    entry = cache_root() / "listings" / fingerprint
    if entry.exists():
        return
    rows = [[one.path, one.size_bytes, one.num_rows, one.num_tokens] for one in shards]
    try:
        entry.parent.mkdir(parents=True, exist_ok=True)
        with whole_file(entry, durable=False) as file:
            file.write(zlib.compress(json.dumps(rows).encode(), 1))
        for old in sorted(entry.parent.iterdir(), key=lambda path: path.stat().st_mtime_ns)[:-_KEPT]:
            old.unlink(missing_ok=True)
    except OSError:
        return


def recall_listing(fingerprint: str) -> list[Known] | None:
    """The shards of the source that had this fingerprint, or None where this machine never saw it."""
    try:
        rows = json.loads(zlib.decompress((cache_root() / "listings" / fingerprint).read_bytes()))
        return [Known(*row) for row in rows]
    except (OSError, zlib.error, ValueError, TypeError):
        return None


def difference(old: Iterable[Known], new: Iterable[Known]) -> str:
    """What became of the shards: "1 changed (a.arrow: 100 bytes, now 90), 2 gone (…), 1 new (…)"; empty where nothing.

    A shard is changed when its size, rows or tokens are others, as far as both sides know them.
    """
    before, after = {one.path: one for one in old}, {one.path: one for one in new}
    changed = {
        path: text for path in before.keys() & after.keys() if (text := _change(before[path], after[path])) is not None
    }
    parts = [
        _part("changed", changed, lambda path: f"{path}: {changed[path]}"),
        _part("gone", {path: "" for path in before if path not in after}, str),
        _part("new", {path: "" for path in after if path not in before}, str),
    ]
    return ", ".join(part for part in parts if part)


def _part(what: str, paths: Mapping[str, str], show: Callable[[str], str]) -> str:
    if not paths:
        return ""
    shown = [show(path) for path in sorted(paths)[:_SHOWN]]
    return f"{len(paths)} {what} ({', '.join(shown)}{', …' if len(paths) > _SHOWN else ''})"


def _change(one: Known, other: Known) -> str | None:
    for name, unit in (("size_bytes", "bytes"), ("num_rows", "rows"), ("num_tokens", "tokens")):
        was, now = getattr(one, name), getattr(other, name)
        if None not in (was, now) and was != now:
            return f"{was} {unit}, now {now}"
    return None
