"""SQL of what rules compare with: medians of minutes, and shares over a window of steps. One statement a window."""

from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncSession

from .. import models


async def silent_ranks(session: AsyncSession, ranks: Sequence[tuple[int, int]]) -> dict[int, tuple[str, float]]:
    """For each (attempt, rank): by attempt, its host and when it was last heard (Unix seconds)."""
    state = models.RankState
    query = sa.select(state.attempt_id, state.host, state.received_at)
    query = query.where(sa.tuple_(state.attempt_id, state.rank).in_(ranks))
    return {row.attempt_id: (row.host, row.received_at) for row in await session.execute(query)}


async def median_rates(session: AsyncSession, attempt_ids: Sequence[int], since: float) -> dict[int, tuple[float, int]]:
    """For each attempt: the median of its minutes' mean token rates since a time, and how many minutes that is."""
    row = models.JobRollup
    by = row.attempt_id
    ranked = (
        sa.select(
            by,
            row.tokens_per_s_mean.label("rate"),
            sa.func.row_number().over(partition_by=by, order_by=row.tokens_per_s_mean).label("place"),
            sa.func.count().over(partition_by=by).label("num"),
        )
        .where(by.in_(attempt_ids), row.minute >= int(since))
        .subquery()
        .c
    )
    query = (
        sa.select(ranked.attempt_id, sa.func.avg(ranked.rate).label("median"), sa.func.max(ranked.num).label("num"))
        .where(ranked.place.in_([(ranked.num + 1) // 2, (ranked.num + 2) // 2]))
        .group_by(ranked.attempt_id)
    )
    return {found.attempt_id: (found.median, found.num) for found in await session.execute(query)}


async def shares(session: AsyncSession, attempt_ids: Sequence[int], window_steps: int) -> Sequence[sa.Row[Any]]:
    """Rows (attempt_id, source, num_steps, delivered, asked) over each attempt's last ``window_steps`` steps.

    ``delivered`` is in sequences; ``asked`` is the sum over the steps of the weight in force at each, in ppm, so that
    an edit or a ramp within the window is no drift.
    """
    row = models.SourceProgress
    newest = (
        sa.select(row.attempt_id, sa.func.max(row.step).label("last"))
        .where(row.attempt_id.in_(attempt_ids))
        .group_by(row.attempt_id)
        .subquery()
    )
    before = sa.func.lag(row.step).over(partition_by=(row.attempt_id, row.source_id), order_by=row.step)
    steps = (
        sa.select(row.attempt_id, row.source_id, row.step, row.ordinal, row.target_ppm, before.label("before"))
        .join(newest, newest.c.attempt_id == row.attempt_id)
        .where(row.step >= newest.c.last - window_steps)
        .subquery()
        .c
    )
    query = (
        sa.select(
            steps.attempt_id,
            models.JobSource.name.label("source"),
            (sa.func.max(steps.step) - sa.func.min(steps.step)).label("num_steps"),
            (sa.func.max(steps.ordinal) - sa.func.min(steps.ordinal)).label("delivered"),
            sa.cast(sa.func.sum(steps.target_ppm * (steps.step - steps.before)), sa.Double).label("asked"),
        )
        .join(models.JobSource, models.JobSource.id == steps.source_id)
        .group_by(steps.attempt_id, models.JobSource.id, models.JobSource.name)
        .having(sa.func.max(steps.step) > sa.func.min(steps.step))
        .order_by(steps.attempt_id, models.JobSource.id)
    )
    return (await session.execute(query)).all()
