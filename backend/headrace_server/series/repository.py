"""SQL of series: bucketed in the database by NTILE, so few points come back whole and many keep their extremes.

What is bucketed are rounds of reports and the steps of sources, or one-minute rollups of either.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncSession

from .. import models
from ..ingest.records import MIN_INTERVAL_S
from .schemas import Column, RankMetric, SourceMetric
from .segments import Segment, within

Report = models.RankReport
Progress = models.SourceProgress


@dataclass(frozen=True)
class Span:
    """When the reports of a range were made: from ``begin`` to before ``end`` (Unix seconds), or in what waits.

    ``waiting`` is (attempt, begin, end) of minutes that are not rolled up yet: they may reach into any range.
    """

    begin: float
    end: float
    waiting: Sequence[tuple[int, int, int]]


async def attempts_with_reports(session: AsyncSession, job_id: int) -> Sequence[models.Attempt]:
    """Attempts of a job that have reported, in the order they started."""
    reported = sa.exists().where(Report.attempt_id == models.Attempt.id)
    rolled_up = sa.exists().where(models.JobRollup.attempt_id == models.Attempt.id)
    query = sa.select(models.Attempt).where(models.Attempt.job_id == job_id, sa.or_(reported, rolled_up))
    return (await session.scalars(query.order_by(models.Attempt.started_at, models.Attempt.number))).all()


async def reached(session: AsyncSession, job_id: int) -> dict[int, tuple[int, int]]:
    """For each attempt of a job that has reported: its newest step and the tokens of the run through it."""
    state = models.RankState
    query = (
        sa.select(state.attempt_id, sa.func.max(state.step), sa.func.max(state.total_tokens))
        .join(models.Attempt, models.Attempt.id == state.attempt_id)
        .where(models.Attempt.job_id == job_id)
        .group_by(state.attempt_id)
    )
    return {attempt_id: (step, num_tokens) for attempt_id, step, num_tokens in await session.execute(query)}


def _between(x: Any, low: float | None, high: float | None) -> sa.ColumnElement[bool]:
    bounds = [sa.true()]
    if low is not None:
        bounds.append(x >= low)
    if high is not None:
        bounds.append(x <= high)
    return sa.and_(*bounds)


def _timely(span: Span | None) -> sa.ColumnElement[bool]:
    if span is None:
        return sa.true()
    parts = [
        sa.and_(Report.attempt_id == attempt_id, Report.time >= begin, Report.time < end)
        for attempt_id, begin, end in span.waiting
    ]
    return sa.or_(sa.and_(Report.time >= span.begin, Report.time < span.end), *parts)


def rank_rounds(
    metric: RankMetric,
    segments: Sequence[Segment],
    rank: int | None,
    *,
    complete_before: float,
    span: Span | None,
) -> sa.Subquery:
    """One row for the n-th report of every rank: lo, hi, total, num and last over the ranks; token rates are summed."""
    value: Any
    if metric == "tokens_per_s":
        rate = Report.tokens / sa.cast(Report.interval_s, sa.Double)
        value = sa.case((Report.interval_s >= MIN_INTERVAL_S, rate), else_=0.0)
        total = sa.func.sum(value)
        columns = [
            *(total.label(name) for name in ("lo", "hi", "total", "last")),
            sa.literal(1.0).label("num"),
        ]
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
            sa.func.avg(value).label("last"),
        ]
    query = (
        sa.select(
            Report.attempt_id,
            sa.cast(sa.func.max(Report.step), sa.Double).label("step"),
            sa.func.max(Report.time).label("time"),
            *columns,
        )
        .where(within(Report.attempt_id, Report.step, segments), _timely(span))
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


def _steps(ranked: Any) -> list[sa.Label[Any]]:
    """The step of a bucket's last row, and of its largest value."""
    return [
        sa.func.max(sa.case((ranked.from_end == 1, ranked.step))).label("step"),
        sa.func.max(sa.case((ranked.from_top == 1, ranked.step))).label("peak_step"),
    ]


async def rank_buckets(
    session: AsyncSession,
    rounds: sa.Subquery,
    axis: Column,
    *,
    low: float | None,
    high: float | None,
    max_points: int,
) -> Sequence[sa.Row[Any]]:
    """Rows (x, step, peak_step, min, max, mean, last, count) of rounds, by x."""
    x = rounds.c[axis]
    tiled = (
        sa.select(
            x.label("x"),
            rounds.c.step,
            rounds.c.lo,
            rounds.c.hi,
            rounds.c.total,
            rounds.c.num,
            rounds.c.last,
            sa.func.ntile(max_points).over(order_by=(x, rounds.c.attempt_id)).label("bucket"),
        )
        .where(_between(x, low, high))
        .subquery()
    )
    newest = sa.func.row_number().over(partition_by=tiled.c.bucket, order_by=tiled.c.x.desc())
    largest = sa.func.row_number().over(partition_by=tiled.c.bucket, order_by=(tiled.c.hi.desc(), tiled.c.x))
    ranked = sa.select(tiled, newest.label("from_end"), largest.label("from_top")).subquery().c
    query: sa.Select[Any] = (
        sa.select(
            sa.func.max(ranked.x).label("x"),
            *_steps(ranked),
            sa.func.min(ranked.lo).label("min"),
            sa.func.max(ranked.hi).label("max"),
            (sa.func.sum(ranked.total) / sa.func.sum(ranked.num)).label("mean"),
            sa.func.max(sa.case((ranked.from_end == 1, ranked.last))).label("last"),
            sa.func.sum(ranked.num).label("count"),
        )
        .group_by(ranked.bucket)
        .order_by(ranked.bucket)
    )
    rows: Sequence[sa.Row[Any]] = (await session.execute(query)).all()
    return rows


def source_rows() -> sa.Subquery:
    """A row a reported step and source: where it was there, and the losses of the ranks that reported there."""
    nothing = [sa.null().label(name) for name in ("lo", "hi", "last")]
    return sa.select(Progress, *nothing).subquery()


def _delivered(source_rows: sa.Subquery, segments: Sequence[Segment], window_steps: int) -> sa.Subquery:
    """Sequences delivered of each source in the ``window_steps`` before each row."""
    row = source_rows.c
    source = (row.attempt_id, row.source_id)
    before = sa.func.last_value(row.ordinal).over(partition_by=source, order_by=row.step, range_=(None, -window_steps))
    fresh = row.attempt_id.in_([segment.attempt_id for segment in segments if segment.fresh])
    first = sa.func.first_value(row.ordinal).over(partition_by=source, order_by=row.step)
    start = sa.case((fresh, 0), else_=first)
    return (
        sa.select(source_rows, (row.ordinal - sa.func.coalesce(before, start)).label("delivered"))
        .where(row.attempt_id.in_([segment.attempt_id for segment in segments]))
        .subquery()
    )


def _source_values(
    source_rows: sa.Subquery, metric: SourceMetric, segments: Sequence[Segment], window_steps: int
) -> sa.Subquery:
    """Rows (attempt, source, step, time, num, den, lo, hi, last, target): means are of num / den, weighed by den."""
    num: Any
    den: Any
    if metric == "share":
        rows = _delivered(source_rows, segments, window_steps).c
        num, den = rows.delivered, sa.func.sum(rows.delivered).over(partition_by=(rows.attempt_id, rows.step))
    else:
        rows = source_rows.c
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
            *(sa.cast(rows[name], sa.Double).label(name) for name in ("lo", "hi", "last")),
        )
        .where(rows.attempt_id.in_([segment.attempt_id for segment in segments]))
        .subquery()
    )
    inside = within(values.c.attempt_id, values.c.step, segments)
    return sa.select(values).where(inside, values.c.den > 0).subquery()


async def source_buckets(
    session: AsyncSession,
    rows: sa.Subquery,
    metric: SourceMetric,
    axis: Column,
    segments: Sequence[Segment],
    *,
    low: float | None,
    high: float | None,
    max_points: int,
    window_steps: int,
) -> Sequence[sa.Row[Any]]:
    """Rows (source_id, x, step, peak_step, min, max, mean, last, count, target_ppm) of a metric, by source and x.

    A share is measured over the ``window_steps`` before each point; an epoch is still in sequences. A loss counts the
    sequences that it is of, the others the rows.
    """
    values = _source_values(rows, metric, segments, window_steps).c
    x = values[axis]
    tiles = sa.func.ntile(max_points).over(partition_by=values.source_id, order_by=(x, values.attempt_id))
    tiled = (
        sa.select(
            values.source_id,
            x.label("x"),
            values.step,
            values.num,
            values.den,
            *(sa.func.coalesce(values[name], values.num / values.den).label(name) for name in ("lo", "hi", "last")),
            values.target_ppm,
            tiles.label("bucket"),
        )
        .where(_between(x, low, high))
        .subquery()
    )
    by = (tiled.c.source_id, tiled.c.bucket)
    newest = sa.func.row_number().over(partition_by=by, order_by=tiled.c.x.desc())
    largest = sa.func.row_number().over(partition_by=by, order_by=(tiled.c.hi.desc(), tiled.c.x))
    ranked = sa.select(tiled, newest.label("from_end"), largest.label("from_top")).subquery().c
    query: sa.Select[Any] = (
        sa.select(
            ranked.source_id,
            sa.func.max(ranked.x).label("x"),
            *_steps(ranked),
            sa.func.min(ranked.lo).label("min"),
            sa.func.max(ranked.hi).label("max"),
            (sa.func.sum(ranked.num) / sa.func.sum(ranked.den)).label("mean"),
            sa.func.max(sa.case((ranked.from_end == 1, ranked.last))).label("last"),
            (sa.func.sum(ranked.den) if metric == "loss" else sa.func.count()).label("count"),
            sa.func.max(sa.case((ranked.from_end == 1, ranked.target_ppm))).label("target_ppm"),
        )
        .group_by(ranked.source_id, ranked.bucket)
        .order_by(ranked.source_id, ranked.bucket)
    )
    rows_found: Sequence[sa.Row[Any]] = (await session.execute(query)).all()
    return rows_found
