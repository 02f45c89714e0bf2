"""Where the counts of a source's shards come from: an index, what is remembered, or else the footers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from headrace.discovery import Found
from headrace.errors import SourceError
from headrace.footers import read_footers
from headrace.formats import ShardIndex
from headrace.formats.allowance import UNLIMITED, Allowance
from headrace.places import Place, parse_place
from headrace.remembered import FEWEST_SHARDS, recall_tables, remembering_tables

if TYPE_CHECKING:
    from headrace.source_index import SourceIndex

MAX_COUNTED_BATCHES: Final = 100_000
"""Record batches of foreign Arrow that are counted at start on object storage; beyond, an index is asked for."""


@dataclass(frozen=True, slots=True)
class Counts:
    """What is known of every shard, in order, and the index that says so, if any."""

    indexes: Iterator[ShardIndex]
    written: SourceIndex | None = None


def find_counts(
    name: str,
    found: Found,
    column: str,
    index: Place | Path | str | None,
    is_left_out: Callable[[str], bool],
) -> Counts:
    """The counts of what was `found`; footers are read as the iterator goes, and remembered once it has ended.

    Raises SourceError where `index` can't be read or is of something else; the iterator as `read_footers` does.
    """
    if index is not None:
        return _given(name, found, column, index)
    # Shards that are left out may be unreadable, and are then empty: nothing to remember.
    may_remember = not any(is_left_out(one.path) for one in found.files)
    if found.root.remote is None:
        tables = recall_tables(found, column) if may_remember else None
        if tables is not None:
            return Counts(map(ShardIndex.of, tables))
        indexes = read_footers(name, found, column, is_left_out, UNLIMITED)
        worth = may_remember and len(found.files) >= FEWEST_SHARDS
        return Counts(remembering_tables(found, column, indexes) if worth else indexes)
    from headrace.source_index import cached_index, remembering  # noqa: PLC0415  # pyarrow costs 60 ms

    known = cached_index(found, column) if may_remember else None
    if known is not None:
        return Counts(known.indexes(), known)
    indexes = read_footers(name, found, column, is_left_out, Allowance(MAX_COUNTED_BATCHES))
    return Counts(remembering(found, column, indexes) if may_remember else indexes)


def _given(name: str, found: Found, column: str, index: Place | Path | str) -> Counts:
    from headrace.source_index import load_index  # noqa: PLC0415

    try:
        given = load_index(index if isinstance(index, Place) else parse_place(index))
        given.check(found, column)
    except SourceError as error:
        raise SourceError(f"source '{name}': {error}") from error
    return Counts(given.indexes(), given)
