"""Documents that keep their places without being read: made of blocks that can't be, and of ids out of range.

A hole is filled with padding and labels that no loss counts, so every other token stays where it is. What becomes one
follows from the data alone, never from which rank reads it: a whole block that can't be opened, by the counts of the
manifest, or a whole document that holds an id out of range.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from headrace.formats import Block
from headrace.kernels import compiled
from headrace.manifest import SourceManifest
from headrace.packing import DocumentOrder

Ints = npt.NDArray[np.int64]

log = logging.getLogger("headrace")

HOLE = -1
"where a document starts that keeps its place without being read"

UNKNOWN_ROW = -1
"the row of a document in a block that could not be opened"


@dataclass(frozen=True, slots=True)
class BadData:
    """What is done with data that can't be used."""

    masks: bool
    "whether it becomes holes; else it stops the run"
    id_limit: int
    "what ids must stay below"
    needs_lengths: bool
    "whether documents left out must still be measured, as when whole ones are packed"
    told: set[tuple[str, str, int]] = field(default_factory=set)
    "(source, shard, block) of what was said in the log already"

    def tell(self, manifest: SourceManifest, block: int, what: str, *arguments: object) -> None:
        """Logs what became holes in a block, with the place in front, once."""
        index, path = int(manifest.block_index[block]), manifest.shards[int(manifest.block_shard[block])].path
        if (manifest.name, path, index) not in self.told:
            self.told.add((manifest.name, path, index))
            log.warning("source %r: block %d of %s " + what, manifest.name, index, path, *arguments)


STOP: Final = BadData(masks=False, id_limit=1 << 62, needs_lengths=True)
"the run stops with the place named"


@compiled
def _mark(tokens: Any, limit: int, starts: Ints, lengths: Ints, is_bad: npt.NDArray[np.bool_]) -> None:
    """Set `is_bad` for documents that hold an id that is negative or from `limit` on."""
    for document in range(starts.shape[0]):
        if starts[document] >= 0:
            text = tokens[starts[document] : starts[document] + lengths[document]]
            worst = np.uint64(0)
            for place in range(text.shape[0]):
                worst = max(worst, np.uint64(text[place]))
            is_bad[document] = worst >= np.uint64(limit)


def out_of_range(block: Block, limit: int) -> npt.NDArray[np.bool_]:
    """Which documents of a block, holes apart, hold an id that is negative or from `limit` on: bool (n,)."""
    is_bad = np.zeros(len(block.starts), np.bool_)
    _mark(block.tokens, limit, block.starts, block.lengths, is_bad)
    return is_bad


def hole_block(manifest: SourceManifest, block: int) -> Block:
    """A block as its counts have it, all holes: its tokens spread evenly over its documents, rows unknown."""
    documents, tokens = int(manifest.block_documents[block]), int(manifest.block_tokens[block])
    lengths = np.full(documents, tokens // documents, np.int64)
    lengths[: tokens % documents] += 1
    nothing = np.empty(0, manifest.token_dtype)
    starts, rows = np.full(documents, HOLE, np.int64), np.full(documents, UNKNOWN_ROW, np.int64)
    return Block(nothing, starts, lengths, rows, 3 * lengths.nbytes, nothing)


def hole_stretches(order: DocumentOrder, offset: int, count: int) -> Ints:
    """Where holes lie in tokens `[offset, offset + count)` of a block's stream: int64 (n, 2), from `offset` on.

    Rows are (first, one past the last), ascending.
    """
    places = np.flatnonzero(order.begins < 0)
    firsts = np.maximum(order.edges[places] - offset, 0)
    lasts = np.minimum(order.edges[places + 1] - offset, count)
    inside = firsts < lasts
    return np.stack((firsts[inside], lasts[inside]), axis=1)
