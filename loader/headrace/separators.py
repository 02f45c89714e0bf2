"""Documents that carry a separator already, found before they would be given a second one.

A sample of each source is looked at. Where most documents of two tokens and more end in the very `eos_id` that the
loader is to put after them (or begin with `bos_id`), whoever wrote the shards put it there: in data without separators
one of them ends a document about as often as any other token. A minority is no reason to refuse, since a document may
end so by chance or by its text, and `eos_id=None` would leave all others without one; it is logged.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import Final

import numpy as np

from headrace.errors import DataError, SourceError
from headrace.formats import Block
from headrace.manifest import SourceManifest

log = logging.getLogger("headrace")

SAMPLE_BLOCKS: Final = 3
"blocks of a source that are looked at"

SAMPLE_BYTES: Final = 4 << 20
"tokens' bytes of a block that is read for this alone; larger ones are looked at when they are read anyway"

_CANDIDATES: Final = 64
_TOLD_SHARE: Final = 0.01
_LEAST_DOCUMENTS: Final = 2


@dataclass(slots=True)
class _Ends:
    """How many of the documents that were looked at carry a separator."""

    documents: int = 0
    with_bos: int = 0
    with_eos: int = 0


class SeparatorCheck:
    """Looks at blocks of one source until it has seen enough."""

    def __init__(self, manifest: SourceManifest, bos_id: int | None, eos_id: int | None) -> None:
        self._manifest = manifest
        self._bos_id = bos_id
        self._eos_id = eos_id
        self._seen = _Ends()
        self._left = SAMPLE_BLOCKS if (bos_id, eos_id) != (None, None) else 0

    def look(self, block: Block) -> None:
        """Counts one more block, if it is still needed.

        Raises:
            SourceError: most documents seen so far carry a separator that is to be added.
        """
        if self._left == 0:
            return
        self._left -= 1
        whole = np.flatnonzero((block.lengths > 1) & (block.starts >= 0))
        first = block.tokens[block.starts[whole]]
        last = block.tokens[block.starts[whole] + block.lengths[whole] - 1]
        seen = self._seen
        seen.documents += len(whole)
        seen.with_bos += 0 if self._bos_id is None else int((first == self._bos_id).sum())
        seen.with_eos += 0 if self._eos_id is None else int((last == self._eos_id).sum())
        for option, verb, value, number in self._findings():
            if seen.documents >= _LEAST_DOCUMENTS and 2 * number > seen.documents:
                raise SourceError(
                    f"source '{self._manifest.name}' ({self._manifest.root}): {number} of {seen.documents} documents "
                    f"sampled already {verb} {option} {value}, so each would get a second one; give {option}=None to "
                    "take documents as they are, or the id that they lack"
                )

    def tell(self) -> None:
        """Logs what share of the documents carries a separator, if it is one in a hundred or more."""
        for option, verb, value, number in self._findings():
            if number > _TOLD_SHARE * self._seen.documents:
                log.warning(
                    "source %r: %d of %d documents sampled already %s %s %d, and get a second one",
                    self._manifest.name,
                    number,
                    self._seen.documents,
                    verb,
                    option,
                    value,
                )

    def _findings(self) -> tuple[tuple[str, str, int | None, int], ...]:
        """(option, what documents do, the id, how many do) of each separator."""
        seen = self._seen
        return (
            ("bos_id", "begin with", self._bos_id, seen.with_bos),
            ("eos_id", "end in", self._eos_id, seen.with_eos),
        )


def check_separators(manifest: SourceManifest, bos_id: int | None, eos_id: int | None, *, may_fail: bool) -> None:
    """Reads a few small blocks of a source, and refuses it if its documents carry a separator that is to be added.

    Where all blocks are large nothing is read: see `first_look`. With `may_fail`, blocks that can't be read are passed
    over.

    Raises:
        SourceError: as `SeparatorCheck.look`. ShardError: a block that can't be read.
    """
    check = SeparatorCheck(manifest, bos_id, eos_id)
    for block in _sample(manifest) if (bos_id, eos_id) != (None, None) else ():
        try:
            opened = _open(manifest, block)
        except DataError:
            if not may_fail:
                raise
        else:
            check.look(opened)
    check.tell()


def first_look(manifest: SourceManifest, bos_id: int | None, eos_id: int | None) -> SeparatorCheck | None:
    """What is to look at the first blocks that a rank opens, where all blocks are too large to be read for a sample."""
    return None if _sample(manifest) else SeparatorCheck(manifest, bos_id, eos_id)


def _sample(manifest: SourceManifest) -> list[int]:
    """At most `SAMPLE_BLOCKS` small blocks: the first, the last and what lies between."""
    spread = np.unique(np.linspace(0, manifest.num_blocks - 1, _CANDIDATES).astype(np.int64))
    small = spread[manifest.block_tokens[spread] * manifest.token_dtype.itemsize <= SAMPLE_BYTES]
    if len(small) == 0:
        return []
    places = np.linspace(0, len(small) - 1, min(SAMPLE_BLOCKS, len(small))).astype(np.int64)
    chosen: list[int] = small[np.unique(places)].tolist()
    return chosen


def _open(manifest: SourceManifest, block: int) -> Block:
    file = manifest.open_shard(int(manifest.block_shard[block]))
    try:
        return file.open_block(int(manifest.block_index[block]))
    finally:
        file.close()
