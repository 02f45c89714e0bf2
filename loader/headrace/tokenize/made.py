"""What this command itself wrote, which is no text where it lies among the inputs: shards may go below their text."""

from __future__ import annotations

import os
from functools import lru_cache
from typing import Final

from headrace.errors import SourceError
from headrace.tokenize.encoders.found import FILES
from headrace.tokenize.inputs import Listing
from headrace.tokenize.ledger import MANIFEST, OPENING
from headrace.tokenize.units import SHARD_NAME

_BOOKS: Final = frozenset((OPENING, MANIFEST, *FILES.values()))
_WHY: Final = "made by headrace tokenize"


def without_made(listing: Listing, output: str) -> Listing:
    """The listing without what is in `output`, the full name of the folder of shards, or in an earlier one among them.

    Raises SourceError when nothing else was found.
    """
    named_so = [item.name for item in listing.inputs if _is_named_so(_split(item.name)[1])]
    folders = {_real(output)} | {_real(_split(name)[0]) for name in named_so if _split(name)[1] == OPENING}
    made = {name for name in named_so if _is_in(name, folders)}
    kept = tuple(item for item in listing.inputs if item.name not in made)
    if not kept:
        raise SourceError(f"all {len(made)} files found, such as {min(made)}, were {_WHY}")
    return Listing(kept, tuple(sorted((*listing.ignored, *((name, _WHY) for name in made)))))


def _is_named_so(last: str) -> bool:
    return last in _BOOKS or SHARD_NAME.fullmatch(last) is not None


def _is_in(name: str, folders: set[str]) -> bool:
    """Shards of a source with a name lie one folder below the books."""
    folder, last = _split(name)
    here = _real(folder)
    return here in folders or (last not in _BOOKS and _split(here)[0] in folders)


def _split(name: str) -> tuple[str, str]:
    folder, _, last = name.rpartition("/")
    return folder, last


@lru_cache(maxsize=1024)
def _real(folder: str) -> str:
    """Its name without links, where it is local."""
    return folder if "://" in folder else os.path.realpath(folder)
