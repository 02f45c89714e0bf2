"""Which documents a global batch holds: a step → (slot, source, file, row, token range), from counts alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from headrace.data import Data
from headrace.mix import Revision, weights_at
from headrace.order import Spans
from headrace.plan import Position, plan_step
from headrace.reader import BlockCache
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
    position = advance(known, log, config.names, config.global_batch_size, step)
    by_name = weights_at(log, step, config.names)
    weights = np.array([by_name[name] for name in config.names], np.int64)
    plan = plan_step(position, weights, config.global_batch_size, orders)
    _, blocks = data.assembler(orders)
    try:
        found = []
        for k in np.unique(plan.sources).tolist():
            slots = np.flatnonzero(plan.sources == k)
            spans = orders[k].spans_of(plan.ordinals[slots])
            for i in range(len(spans.slot)):
                place = int(slots[spans.slot[i]]), int(spans.column[i])
                found += [(place, piece) for piece in _documents(data, blocks, k, spans, i, place[0])]
        return [piece for _, piece in sorted(found, key=lambda item: item[0])]
    finally:
        blocks.clear()


def _documents(data: Data, blocks: BlockCache, source: int, spans: Spans, i: int, slot: int) -> Iterator[Traced]:
    """The documents that span `i` touches, in order."""
    block, offset, end = int(spans.block[i]), int(spans.offset[i]), int(spans.offset[i] + spans.count[i])
    opened = blocks.get(source, int(spans.epoch[i]), block)
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
            data.config.names[source],
            blocks.name_of(source, block),
            int(opened.block.rows[document]),
            min(max(first, 0), length),
            min(max(last, 0), length),
        )
        place += 1
