"""Which documents a global batch holds: a step → (slot, source, file, row, token range), from counts alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from headrace.data import Data
from headrace.eras import Era, era_at, was_skipped
from headrace.errors import StateError
from headrace.mix import Revision, weight_array
from headrace.plan import Position, plan_step, size_at
from headrace.reader import OrderedBlock
from headrace.replay import advance
from headrace.steps import Steps


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


def nearest(
    eras: Sequence[Era], log: Sequence[Revision], positions: Sequence[Position], step: int, names: Sequence[str]
) -> tuple[Era, Position]:
    """The era of `step`, and the last known position of it at or before `step`.

    Raises:
        StateError: a step that can't be named; says why, and which can.
    """
    era = era_at(eras, step)
    if step < 0 or era is None or log[0].from_step > step:
        first = max(eras[0].step, log[0].from_step)
        raise StateError(f"step is {step}; what this loader knows of the run reaches back to step {first}")
    if was_skipped(eras, step):
        raise StateError(f"step is {step}; it was moved past (skip_steps) and never delivered")
    gone = [name for name in era.names if name not in names]
    if gone:
        raise StateError(
            f"step is {step}; it had source {gone[0]!r}, which is no longer configured: add it to the sources to name "
            "its documents"
        )
    known = [position for position in positions if era.step <= position.step <= step]
    near = max(known, key=lambda position: position.step, default=era.position)
    if log[0].from_step > near.step:
        raise StateError(
            f"step is {step}; older changes of the mix are folded away, so only steps from {log[0].from_step} on "
            "can be named from a later checkpoint"
        )
    return era, near


def trace_run(
    data: Data, eras: Sequence[Era], log: Sequence[Revision], positions: Sequence[Position], step: int
) -> list[Traced]:
    """`trace_step` of any step of a run, from the last known position before it.

    Raises:
        StateError: a step that can't be named, or is not to be: after the end of a run that has one.
    """
    era, near = nearest(eras, log, positions, step, data.config.names)
    ending = data.ending()
    if ending is not None and era is eras[-1] and Steps(eras, log, (*positions, near)).is_over(step, ending):
        last = Steps(eras, log, positions, ending).last_step
        raise StateError(f"step is {step}; the run ends with step {last} if the mix stays as it is")
    return trace_step(data, era, near, log, step)


def trace_step(data: Data, era: Era, known: Position, log: Sequence[Revision], step: int) -> list[Traced]:
    """Every document of the global batch of `step`, in slot order, then in the order of the sequence.

    Args:
        data: the sources.
        era: that of `step`; all of its sources are among those of `data`.
        known: a position of that era at or before `step`.
        log: every change up to `step`.
        step: the step to name.
    """
    orders = data.orders()
    courses = data.courses(orders)
    source_of = np.array([data.config.names.index(name) for name in era.names], np.int32)
    caps = None if era.caps is None else np.array(era.caps, np.int64)
    position = advance(known, log, era.names, era.batch_sizes, step, caps)
    own = [courses[source] for source in source_of.tolist()]
    size = size_at(era.batch_sizes, step)
    plan = plan_step(position, weight_array(log, step, era.names), size, own, caps)
    legs, ordinals = courses.locate(source_of[plan.sources], plan.ordinals)
    blocks = data.blocks()
    pieces = data.pieces(orders, blocks)
    try:
        found: list[tuple[tuple[int, int], Traced]] = []
        for leg in np.unique(legs).tolist():
            slots = np.flatnonzero(legs == leg)
            rows, opened = pieces.table(leg, slots, ordinals[slots])
            for row in rows.tolist():
                path = blocks.name_of(leg, row[10])
                found += [((row[0], row[1]), piece) for piece in documents_in(data, row, opened[row[11]], path)]
        return [piece for _, piece in sorted(found, key=lambda item: item[0])]
    finally:
        pieces.clear()


def documents_in(data: Data, row: list[int], opened: OrderedBlock, path: str) -> Iterator[Traced]:
    """The documents that one row of a table touches, in order."""
    slot, _, offset, count = row[:4]
    end = offset + count
    edges = opened.order.edges
    has_bos = int(data.config.bos_id is not None)
    place = int(np.searchsorted(edges, offset, side="right")) - 1
    while place < len(edges) - 1 and edges[place] < end:
        if opened.order.begins[place] < 0:  # a hole: nothing of it was delivered
            place += 1
            continue
        document = int(opened.order.documents[place])
        length = int(opened.block.lengths[document])
        first = max(offset, int(edges[place])) - int(edges[place]) - has_bos
        last = min(end, int(edges[place + 1])) - int(edges[place]) - has_bos
        yield Traced(
            slot,
            data.legs[row[8]].manifest.name,
            path,
            int(opened.block.rows[document]),
            min(max(first, 0), length),
            min(max(last, 0), length),
        )
        place += 1
