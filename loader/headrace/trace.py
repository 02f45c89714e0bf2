"""Which documents a global batch holds: a step → (slot, source, file, row, token range), from counts alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from headrace.data import Data
from headrace.mix import Revision, weight_array
from headrace.plan import Position, plan_step
from headrace.reader import OrderedBlock
from headrace.replay import advance


class Traced(NamedTuple):
    """A stretch of one document in a global batch."""

    slot: int
    "place of the sequence in the global batch"
    source: str
    path: str
    "shard, relative to the source's path"
    row: int
    start: int
    "first token of the document, as stored, that is in the sequence"
    end: int
    "one past the last; equal to `start` where only a separator is"


def trace_step(data: Data, known: Position, log: Sequence[Revision], step: int) -> list[Traced]:
    """Every document of the global batch of `step`, in slot order, then in the order of the sequence.

    Args:
        data: the sources.
        known: a position at or before `step`.
        log: every change up to `step`.
        step: the step to name.
    """
    config = data.config
    orders = data.orders()
    ending = data.ending()
    caps = None if ending is None else ending.clamps
    position = advance(known, log, config.names, config.global_batch_size, step, caps)
    plan = plan_step(position, weight_array(log, step, config.names), config.global_batch_size, orders, caps)
    blocks = data.blocks()
    pieces = data.pieces(orders, blocks)
    try:
        found: list[tuple[tuple[int, int], Traced]] = []
        for k in np.unique(plan.sources).tolist():
            slots = np.flatnonzero(plan.sources == k)
            rows, opened = pieces.table(k, slots, plan.ordinals[slots])
            for row, block in zip(rows.tolist(), opened, strict=True):
                path = blocks.name_of(k, row[10])
                found += [((row[0], row[1]), piece) for piece in _documents(data, row, block, path)]
        return [piece for _, piece in sorted(found, key=lambda item: item[0])]
    finally:
        pieces.clear()


def _documents(data: Data, row: list[int], opened: OrderedBlock, path: str) -> Iterator[Traced]:
    """The documents that one row of a table touches, in order."""
    slot, _, offset, count = row[:4]
    end = offset + count
    edges = opened.order.edges
    has_bos = int(data.config.bos_id is not None)
    place = int(np.searchsorted(edges, offset, side="right")) - 1
    while place < len(edges) - 1 and edges[place] < end:
        document = int(opened.order.documents[place])
        length = int(opened.block.lengths[document])
        first = max(offset, int(edges[place])) - int(edges[place]) - has_bos
        last = min(end, int(edges[place + 1])) - int(edges[place]) - has_bos
        yield Traced(
            slot,
            data.config.names[row[8]],
            path,
            int(opened.block.rows[document]),
            min(max(first, 0), length),
            min(max(last, 0), length),
        )
        place += 1
