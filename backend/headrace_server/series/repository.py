"""SQL of series: bucketed in the database by NTILE, so few points come back whole and many keep their extremes."""

from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncSession

from .. import models
from ..ingest.records import MIN_INTERVAL_S
from .schemas import Axis, RankMetric, SourceMetric
from .segments import Segment

Report = models.RankReport
Progress = models.SourceProgress


async def attempts_with_reports(session: AsyncSession, job_id: int) -> Sequence[models.Attempt]:
    """Attempts of a job that have reported, oldest first."""
    reported = sa.exists().where(Report.attempt_id == models.Attempt.id)
    query = sa.select(models.Attempt).where(models.Attempt.job_id == job_id, reported)
    return (await session.scalars(query.order_by(models.Attempt.number))).all()


def _within(attempt_id: Any, step: Any, segments: Sequence[Segment]) -> sa.ColumnElement[bool]:
    parts = []
    for segment in segments:
        inside = sa.and_(attempt_id == segment.attempt_id, step >= segment.first)
        parts.append(inside if segment.end is None else sa.and_(inside, step < segment.end))
    return sa.or_(sa.false(), *parts)


def _between(x: Any, low: float | None, high: float | None) -> sa.ColumnElement[bool]:
    bounds = [sa.true()]
    if low is not None:
        bounds.append(x >= low)
    if high is not None:
        bounds.append(x <= high)
    return sa.and_(*bounds)


def _rounds(metric: RankMetric, segments: Sequence[Segment], rank: int | None, complete_before: float) -> sa.Subquery:
    """One row for the n-th report of every rank: lo, hi, total and num over the ranks; token rates are summed."""
    value: Any
    if metric == "tokens_per_s":
        rate = Report.tokens / sa.cast(Report.interval_s, sa.Double)
        value = sa.case((Report.interval_s >= MIN_INTERVAL_S, rate), else_=0.0)
        total = sa.func.sum(value)
        columns = [total.label("lo"), total.label("hi"), total.label("total"), sa.literal(1.0).label("num")]
    else:
        value = sa.cast(getattr(Report, metric), sa.Double)
        if metric.startswith("wait_"):
            # A report between steps is a sign of life that has waited for nothing: it says nothing of waits.
            value = sa.case((Report.steps > 0, value))
        columns = [
            sa.func.min(value).label("lo"),
            sa.func.max(value).label("hi"),
            sa.func.sum(value).label("total"),
            sa.cast(sa.func.count(value), sa.Double).label("num"),
        ]
    query = (
        sa.select(
            Report.attempt_id,
            sa.cast(sa.func.max(Report.step), sa.Double).label("step"),
            sa.func.max(Report.time).label("time"),
            *columns,
        )
        .where(_within(Report.attempt_id, Report.step, segments))
        .group_by(Report.attempt_id, Report.seq)
        .having(sa.func.count(value) > 0)
    )
    if rank is not None:
        return query.where(Report.rank == rank).subquery()
    # The newest round is left out until every rank's report is in, or it would show as a dip.
    num_ranks = (
        sa.select(sa.func.count())
        .select_from(models.RankState)
        .where(models.RankState.attempt_id == Report.attempt_id)
        .scalar_subquery()
    )
    complete = sa.or_(sa.func.count() >= num_ranks, sa.func.max(Report.received_at) < complete_before)
    return query.having(complete).subquery()


async def rank_buckets(
    session: AsyncSession,
    metric: RankMetric,
    axis: Axis,
    segments: Sequence[Segment],
    *,
    rank: int | None,
    low: float | None,
    high: float | None,
    max_points: int,
    complete_before: float,
) -> Sequence[sa.Row[Any]]:
    """Rows (x, min, max, mean, last, count) of a metric of ranks, by x."""
    rounds = _rounds(metric, segments, rank, complete_before)
    x = rounds.c[axis]
    tiled = (
        sa.select(
            x.label("x"),
            rounds.c.lo,
            rounds.c.hi,
            rounds.c.total,
            rounds.c.num,
            sa.func.ntile(max_points).over(order_by=(x, rounds.c.attempt_id)).label("bucket"),
        )
        .where(_between(x, low, high))
        .subquery()
    )
    newest = sa.func.row_number().over(partition_by=tiled.c.bucket, order_by=tiled.c.x.desc())
    ranked = sa.select(tiled, newest.label("from_end")).subquery().c
    query = (
        sa.select(
            sa.func.max(ranked.x).label("x"),
            sa.func.min(ranked.lo).label("min"),
            sa.func.max(ranked.hi).label("max"),
            (sa.func.sum(ranked.total) / sa.func.sum(ranked.num)).label("mean"),
            sa.func.max(sa.case((ranked.from_end == 1, ranked.total / ranked.num))).label("last"),
            sa.func.sum(ranked.num).label("count"),
        )
        .group_by(ranked.bucket)
        .order_by(ranked.bucket)
    )
    rows: Sequence[sa.Row[Any]] = (await session.execute(query)).all()
    return rows


def _delivered(segments: Sequence[Segment], window_steps: int) -> sa.Subquery:
    """Sequences delivered of each source in the ``window_steps`` before each reported step."""
    source = (Progress.attempt_id, Progress.source_id)
    before = sa.func.last_value(Progress.ordinal).over(
        partition_by=source, order_by=Progress.step, range_=(None, -window_steps)
    )
    fresh = Progress.attempt_id.in_([segment.attempt_id for segment in segments if segment.fresh])
    first = sa.func.first_value(Progress.ordinal).over(partition_by=source, order_by=Progress.step)
    start = sa.case((fresh, 0), else_=first)
    return (
        sa.select(
            Progress.attempt_id,
            Progress.source_id,
            Progress.step,
            Progress.time,
            Progress.target_ppm,
            (Progress.ordinal - sa.func.coalesce(before, start)).label("delivered"),
        )
        .where(Progress.attempt_id.in_([segment.attempt_id for segment in segments]))
        .subquery()
    )


def _source_values(metric: SourceMetric, segments: Sequence[Segment], window_steps: int) -> sa.Subquery:
    """Rows (attempt, source, step, time, num, den, target): the value is num / den, and means weigh by den."""
    num: Any
    den: Any
    if metric == "share":
        rows = _delivered(segments, window_steps).c
        num, den = rows.delivered, sa.func.sum(rows.delivered).over(partition_by=(rows.attempt_id, rows.step))
    else:
        rows = Progress.__table__.c
        num, den = (rows.loss_sum, rows.loss_count) if metric == "loss" else (rows.ordinal, sa.literal(1))
    values = (
        sa.select(
            rows.attempt_id,
            rows.source_id,
            sa.cast(rows.step, sa.Double).label("step"),
            rows.time,
            rows.target_ppm,
            sa.cast(num, sa.Double).label("num"),
            sa.cast(den, sa.Double).label("den"),
        )
        .where(rows.attempt_id.in_([segment.attempt_id for segment in segments]))
        .subquery()
    )
    inside = _within(values.c.attempt_id, values.c.step, segments)
    return sa.select(values).where(inside, values.c.den > 0).subquery()


async def source_buckets(
    session: AsyncSession,
    metric: SourceMetric,
    axis: Axis,
    segments: Sequence[Segment],
    *,
    low: float | None,
    high: float | None,
    max_points: int,
    window_steps: int,
) -> Sequence[sa.Row[Any]]:
    """Rows (source_id, x, min, max, mean, last, count, target_ppm) of a metric of sources, by source and x.

    A share is measured over the ``window_steps`` before each point; an epoch is still in sequences.
    """
    values = _source_values(metric, segments, window_steps).c
    x = values[axis]
    tiles = sa.func.ntile(max_points).over(partition_by=values.source_id, order_by=(x, values.attempt_id))
    tiled = (
        sa.select(
            values.source_id,
            x.label("x"),
            values.num,
            values.den,
            values.target_ppm,
            tiles.label("bucket"),
        )
        .where(_between(x, low, high))
        .subquery()
    )
    newest = sa.func.row_number().over(partition_by=(tiled.c.source_id, tiled.c.bucket), order_by=tiled.c.x.desc())
    ranked = sa.select(tiled, newest.label("from_end")).subquery().c
    value = ranked.num / ranked.den
    query = (
        sa.select(
            ranked.source_id,
            sa.func.max(ranked.x).label("x"),
            sa.func.min(value).label("min"),
            sa.func.max(value).label("max"),
            (sa.func.sum(ranked.num) / sa.func.sum(ranked.den)).label("mean"),
            sa.func.max(sa.case((ranked.from_end == 1, value))).label("last"),
            sa.func.count().label("count"),
            sa.func.max(sa.case((ranked.from_end == 1, ranked.target_ppm))).label("target_ppm"),
        )
        .group_by(ranked.source_id, ranked.bucket)
        .order_by(ranked.source_id, ranked.bucket)
    )
    return (await session.execute(query)).all()
