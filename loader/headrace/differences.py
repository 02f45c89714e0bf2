"""What became of a source's files between two listings, in words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from headrace.places import Listed

_SHOWN: Final = 3


def difference(old: Sequence[Listed], new: Sequence[Listed]) -> str:
    """ "1 changed (a.arrow: 100 bytes, now 90), 2 gone (…), 1 new (…)" by names and sizes; empty where nothing did."""
    before, after = {one.path: one.size_bytes for one in old}, {one.path: one.size_bytes for one in new}
    changed = [
        f"{path}: {size} bytes, now {after[path]}"
        for path, size in sorted(before.items())
        if path in after and after[path] != size
    ]
    gone, added = sorted(before.keys() - after.keys()), sorted(after.keys() - before.keys())
    parts = (_part("changed", changed), _part("gone", gone), _part("new", added))
    return ", ".join(part for part in parts if part)


def _part(what: str, shown: Sequence[str]) -> str:
    if not shown:
        return ""
    return f"{len(shown)} {what} ({', '.join(shown[:_SHOWN])}{', …' if len(shown) > _SHOWN else ''})"
