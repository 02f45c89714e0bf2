"""SQL of what is recorded of steps: where each source was at some of them, and how far attempts came."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncSession

from .. import models
from ..series.segments import Segment, within

Side = Literal["before", "from"]


@dataclass(frozen=True)
class Standing:
    """Where sources were through a step: (ordinal of the next sequence, its epoch) by the source's row id."""

    step: int
    at: dict[int, tuple[int, int]]


async def nearest(session: AsyncSession, segments: Sequence[Segment], step: int, side: Side) -> Standing | None:
    """The standing at the last recorded step before ``step``, or at the first one from it on.

    Of reports where they are kept, otherwise of the last step in each minute.
    """
    found = [await _nearest(session, table, segments, step, side) for table in (models.SourceProgress, Rollup)]
    some = [standing for standing in found if standing is not None]
    pick = max if side == "before" else min
    return pick(some, key=lambda standing: standing.step, default=None)


Rollup = models.SourceRollup


async def _nearest(
    session: AsyncSession, table: Any, segments: Sequence[Segment], step: int, side: Side
) -> Standing | None:
    on_line = within(table.attempt_id, table.step, segments)
    ahead = table.step < step if side == "before" else table.step >= step
    order = table.step.desc() if side == "before" else table.step
    first = sa.select(table.attempt_id, table.step).where(on_line, ahead).order_by(order).limit(1)
    row = (await session.execute(first)).one_or_none()
    if row is None:
        return None
    query = sa.select(table.source_id, table.ordinal, table.epoch).where(
        table.attempt_id == row.attempt_id, table.step == row.step
    )
    return Standing(row.step, {each.source_id: (each.ordinal, each.epoch) for each in await session.execute(query)})


async def last_steps(session: AsyncSession, job_id: int) -> dict[int, int]:
    """The last step that any rank of each attempt (by row id) has reported."""
    state = models.RankState
    query = (
        sa.select(state.attempt_id, sa.func.max(state.step).label("step"))
        .join(models.Attempt, models.Attempt.id == state.attempt_id)
        .where(models.Attempt.job_id == job_id)
        .group_by(state.attempt_id)
    )
    return {row.attempt_id: row.step for row in await session.execute(query)}
