"""Which steps of which attempt make up a job's line. Pure, but for how SQL says it.

An attempt that resumed at an earlier step wins from there on: its steps were trained again, and those count.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa


@dataclass(frozen=True)
class Segment:
    """Steps ``first`` to ``end`` (exclusive; None is open) of an attempt; ``fresh``: it did not resume."""

    attempt_id: int
    first: int
    end: int | None
    fresh: bool


@dataclass(frozen=True)
class Start:
    """An attempt that has reported, and the first step it delivered (None: it did not resume)."""

    attempt_id: int
    resumed_from_step: int | None


def stitch(starts: Sequence[Start]) -> list[Segment]:
    """One line out of attempts in the order they started; an attempt that is wholly trained again drops out."""
    segments: list[Segment] = []
    end: int | None = None
    for start in reversed(starts):
        first = start.resumed_from_step or 0
        if end is None or first < end:
            segments.append(Segment(start.attempt_id, first, end, start.resumed_from_step is None))
            end = first
    return segments[::-1]


def whole(start: Start) -> Segment:
    """Every step of one attempt."""
    return Segment(start.attempt_id, 0, None, start.resumed_from_step is None)


def within(attempt_id: Any, step: Any, segments: Sequence[Segment]) -> sa.ColumnElement[bool]:
    """Whether a row of these columns is on the line."""
    parts = []
    for segment in segments:
        inside = sa.and_(attempt_id == segment.attempt_id, step >= segment.first)
        parts.append(inside if segment.end is None else sa.and_(inside, step < segment.end))
    return sa.or_(sa.false(), *parts)
