"""Which shards a source had when a checkpoint was saved, from the little that the checkpoint says of them.

A state that listed every shard would grow with the corpus; it has their number and one fingerprint. Shards that were
appended under names that sort after the old ones leave those in front, where the fingerprint finds them. For others,
and to name what changed, each start remembers its listing under `HEADRACE_CACHE`.
"""

from __future__ import annotations

import json
import logging
from pathlib import Path

from headrace.cache import cache_root
from headrace.formats.whole import whole_file
from headrace.manifest import SourceManifest
from headrace.selection import ranges_of, select_shards

log = logging.getLogger("headrace")


def remember_listing(manifest: SourceManifest) -> None:
    """Keep the names and sizes of a source's shards, so that a later start can say what changed."""
    entry = _entry(manifest.fingerprint)
    if entry.exists():
        return
    rows = [[shard.path, shard.size_bytes] for shard in manifest.shards]
    try:
        entry.parent.mkdir(parents=True, exist_ok=True)
        with whole_file(entry, durable=False) as file:
            file.write(json.dumps(rows).encode())
    except OSError as error:
        log.info("the listing of source %r can't be kept in %s (%s)", manifest.name, entry.parent, error.strerror)


def earlier_shards(manifest: SourceManifest, fingerprint: str, num_shards: int) -> list[int] | None:
    """The numbers, ascending, of the shards that had this fingerprint; None where they are not all there, unchanged."""
    candidates = []
    if num_shards <= len(manifest.shards):
        candidates.append(list(range(num_shards)))
    remembered = _recall(fingerprint)
    if remembered is not None:
        candidates.append([number for number, shard in enumerate(manifest.shards) if shard.path in remembered])
    for numbers in candidates:
        if numbers and select_shards(manifest, ranges_of(numbers)).fingerprint == fingerprint:
            return numbers
    return None


def changed_shards(manifest: SourceManifest, fingerprint: str, num_shards: int) -> str:
    """What is different from the shards that had this fingerprint, by name as far as that is known."""
    remembered = _recall(fingerprint)
    if remembered is None:
        return f"it had {num_shards} shards and has {len(manifest.shards)}"
    sizes = {shard.path: shard.size_bytes for shard in manifest.shards}
    missing = [f"{path} is missing" for path in remembered if path not in sizes]
    resized = [
        f"{path} had {size} bytes and has {sizes[path]}"
        for path, size in remembered.items()
        if path in sizes and sizes[path] != size
    ]
    found = missing + resized
    if not found:
        return f"none of the {len(remembered)} shards has another size, so one of them holds other documents"
    more = f", and {len(found) - 3} more" if len(found) > 3 else ""
    return "; ".join(found[:3]) + more


def _recall(fingerprint: str) -> dict[str, int] | None:
    try:
        return dict(json.loads(_entry(fingerprint).read_bytes()))
    except (OSError, ValueError):
        return None


def _entry(fingerprint: str) -> Path:
    return cache_root() / "listings" / fingerprint
