"""SQL of series over one-minute rollups, and of how much a range holds: what decides between reports and minutes."""

from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncSession

from .. import models
from .schemas import Column, RankMetric, SourceMetric
from .segments import Segment, within

Job = models.JobRollup
Rank = models.RankRollup
Source = models.SourceRollup


def _overlapping(axis: Column, low: float | None, high: float | None) -> sa.ColumnElement[bool]:
    first, last = (Job.step_first, Job.step) if axis == "step" else (Job.minute, Job.time)
    bounds: list[sa.ColumnElement[bool]] = [sa.true()]
    if low is not None:
        bounds.append(last >= low)
    if high is not None:
        bounds.append(first <= high)
    return sa.and_(*bounds)


async def extent(
    session: AsyncSession, axis: Column, segments: Sequence[Segment], low: float | None, high: float | None
) -> sa.Row[int | None, int | None, int | None, int | None]:
    """What of a range is rolled up: (num_reports, num_rounds, first_minute, last_minute); nulls where nothing is."""
    query = sa.select(
        sa.func.sum(Job.num_reports).label("num_reports"),
        sa.func.sum(Job.num_rounds).label("num_rounds"),
        sa.func.min(Job.minute).label("first_minute"),
        sa.func.max(Job.minute).label("last_minute"),
    ).where(within(Job.attempt_id, Job.step, segments), _overlapping(axis, low, high))
    return (await session.execute(query)).one()


def rank_rounds(metric: RankMetric, segments: Sequence[Segment], rank: int | None) -> sa.Subquery:
    """A row a minute, with the columns of a round of reports: lo, hi, total, num and last."""
    table: Any = Job if rank is None else Rank
    value = {of: getattr(table, f"{metric}_{of}") for of in ("min", "max", "mean", "last")}
    if metric.startswith("wait_"):
        num = table.num_waits
    elif metric == "tokens_per_s" and rank is None:
        num = table.num_rounds
    else:
        num = table.num_reports
    query = sa.select(
        table.attempt_id,
        sa.cast(table.step, sa.Double).label("step"),
        table.time,
        value["min"].label("lo"),
        value["max"].label("hi"),
        (value["mean"] * num).label("total"),
        sa.cast(num, sa.Double).label("num"),
        value["last"].label("last"),
    ).where(within(table.attempt_id, table.step, segments), num > 0)
    return (query if rank is None else query.where(table.rank == rank)).subquery()


def source_rows(metric: SourceMetric) -> sa.Subquery:
    """A row a minute and source, with the columns of a step's: where it was, losses, and the least and most of them."""
    loss = metric == "loss"
    return sa.select(
        Source.attempt_id,
        Source.source_id,
        Source.step,
        Source.time,
        Source.target_ppm,
        Source.ordinal,
        Source.loss_sum,
        Source.loss_count,
        (Source.loss_min if loss else sa.null()).label("lo"),
        (Source.loss_max if loss else sa.null()).label("hi"),
        (Source.loss_last if loss else sa.null()).label("last"),
    ).subquery()
