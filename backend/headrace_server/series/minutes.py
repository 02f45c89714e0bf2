"""SQL of series over one-minute rollups, and of how much a range holds: what decides between reports and minutes.

A minute that should be rolled up and isn't yet is rolled up as it is read, so that no reader sees a gap.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncSession

from .. import models
from ..rollups import repository as rollups
from .schemas import Column, RankMetric, SourceMetric
from .segments import Segment, within

Job = models.JobRollup
Rank = models.RankRollup
Source = models.SourceRollup


@dataclass(frozen=True)
class Minutes:
    """What is drawn from rollups, but for ``waiting``, (attempt, begin, end) of minutes that are not rolled up yet."""

    dialect: str
    waiting: Sequence[tuple[int, int, int]] = ()

    def of(self, table: Any, made: Callable[[str, int, int, int], sa.Select[*tuple[Any, ...]]]) -> Any:
        """A rollup's columns over its rows, those that wait as ``made`` makes them."""
        if not self.waiting:
            return table
        waits = [
            sa.and_(table.attempt_id == attempt_id, table.minute >= begin, table.minute < end)
            for attempt_id, begin, end in self.waiting
        ]
        selects = [made(self.dialect, *stretch) for stretch in self.waiting]
        held = sa.select(*(getattr(table, column.name) for column in selects[0].selected_columns)).where(
            ~sa.or_(*waits)
        )
        return sa.union_all(held, *selects).subquery().c


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


def rank_rounds(metric: RankMetric, segments: Sequence[Segment], rank: int | None, minutes: Minutes) -> sa.Subquery:
    """A row a minute, with the columns of a round of reports: lo, hi, total, num and last."""
    table = minutes.of(Job, rollups.per_job) if rank is None else minutes.of(Rank, rollups.per_rank)
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


def source_rows(metric: SourceMetric, minutes: Minutes) -> sa.Subquery:
    """A row a minute and source, with the columns of a step's: where it was, losses, and the least and most of them."""
    table = minutes.of(Source, rollups.per_source)
    loss = metric == "loss"
    return sa.select(
        table.attempt_id,
        table.source_id,
        table.step,
        table.time,
        table.target_ppm,
        table.ordinal,
        table.loss_sum,
        table.loss_count,
        (table.loss_min if loss else sa.null()).label("lo"),
        (table.loss_max if loss else sa.null()).label("hi"),
        (table.loss_last if loss else sa.null()).label("last"),
    ).subquery()
