"""SQL of rollups: what is due, and one attempt's stretch of minutes rolled up from the reports in it."""

from collections.abc import Iterator, Sequence
from typing import Any

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncSession

from .. import models
from ..db import dialect_of, insert_into
from ..ingest.records import MIN_INTERVAL_S, MINUTE_S

WAITS = ("wait_p50_ms", "wait_p99_ms", "wait_max_ms", "wait_share")
GAUGES = ("queue_depth", "rss_bytes")
RATE = "tokens_per_s"
# The number is arbitrary but fixed: who holds it is the one that rolls up and drops.
_LOCK = 4242008401
# A statement covers at most this many minutes of one attempt.
_STRETCH = 30


async def lead(session: AsyncSession) -> bool:
    """Whether this transaction is the only one that rolls up or drops, until it ends; never waits."""
    if dialect_of(session) == "sqlite":
        return True  # a writing transaction of SQLite is alone anyway
    return bool(await session.scalar(sa.select(sa.func.pg_try_advisory_xact_lock(_LOCK))))


async def add_due(session: AsyncSession, attempt_id: int, minutes: Sequence[int]) -> None:
    """Note minutes of an attempt that got reports."""
    if minutes:
        table: Any = models.RollupDue.__table__
        rows = [{"attempt_id": attempt_id, "minute": minute} for minute in minutes]
        await session.execute(sa.insert(table), rows)


async def take_due(session: AsyncSession, *, until: float, limit: int) -> list[tuple[int, int]]:
    """Take (attempt, minute) off the list: at most ``limit`` of those that ended by ``until``, by attempt and time.

    Only what is committed is seen, so a batch that commits later brings its minute up again.
    """
    due = models.RollupDue
    query = sa.select(due.attempt_id, due.minute).where(due.minute <= until - MINUTE_S).distinct()
    pairs = [(row.attempt_id, row.minute) for row in await session.execute(query.limit(limit))]
    for attempt_id in sorted({pair[0] for pair in pairs}):
        minutes = [minute for held, minute in pairs if held == attempt_id]
        await session.execute(sa.delete(due).where(due.attempt_id == attempt_id, due.minute.in_(minutes)))
    return sorted(pairs)


async def oldest_due(session: AsyncSession) -> int | None:
    """The oldest minute that waits to be rolled up."""
    return await session.scalar(sa.select(sa.func.min(models.RollupDue.minute)))


async def minutes_due(session: AsyncSession, attempt_ids: Sequence[int]) -> list[tuple[int, int]]:
    """(attempt, minute) of these attempts that wait to be rolled up, by attempt and time."""
    due = models.RollupDue
    query = sa.select(due.attempt_id, due.minute).where(due.attempt_id.in_(attempt_ids)).distinct()
    return sorted((row.attempt_id, row.minute) for row in await session.execute(query))


def stretches(pairs: Sequence[tuple[int, int]]) -> Iterator[tuple[int, int, int]]:
    """(attempt, begin, end) of the sorted pairs' unbroken stretches, none longer than half an hour."""
    held: tuple[int, int, int] | None = None
    for attempt_id, minute in pairs:
        if held is not None and (attempt_id, minute) == (held[0], held[2]) and minute - held[1] < _STRETCH * MINUTE_S:
            held = (attempt_id, held[1], minute + MINUTE_S)
            continue
        if held is not None:
            yield held
        held = (attempt_id, minute, minute + MINUTE_S)
    if held is not None:
        yield held


def _minute_of(time: Any, dialect: str) -> sa.ColumnElement[int]:
    # PostgreSQL rounds a cast, SQLite cuts it.
    minutes = time / MINUTE_S
    return sa.cast(sa.func.floor(minutes) if dialect == "postgresql" else minutes, sa.BigInteger) * MINUTE_S


def _stats(name: str, value: Any, is_last: Any) -> list[sa.Label[Any]]:
    return [
        sa.func.min(value).label(f"{name}_min"),
        sa.func.max(value).label(f"{name}_max"),
        sa.func.avg(value).label(f"{name}_mean"),
        sa.func.max(sa.case((is_last, value))).label(f"{name}_last"),
    ]


def per_rank(dialect: str, attempt_id: int, begin: int, end: int) -> sa.Select[*tuple[Any, ...]]:
    """Minutes of each rank as rolled up, made of the reports."""
    report = models.RankReport
    minute, stepped = _minute_of(report.time, dialect), report.steps > 0
    by = (report.rank, minute)
    rows = (
        sa.select(
            report,
            minute.label("minute"),
            sa.func.row_number().over(partition_by=by, order_by=report.seq.desc()).label("from_end"),
            sa.func.row_number().over(partition_by=(*by, stepped), order_by=report.seq.desc()).label("of_its_kind"),
        )
        .where(report.attempt_id == attempt_id, report.time >= begin, report.time < end)
        .subquery()
        .c
    )
    rate = sa.case((rows.interval_s >= MIN_INTERVAL_S, rows.tokens / sa.cast(rows.interval_s, sa.Double)), else_=0.0)
    stats = _stats(RATE, rate, rows.from_end == 1)
    waited = rows.steps > 0
    for name in WAITS:
        stats += _stats(name, sa.case((waited, rows[name])), sa.and_(waited, rows.of_its_kind == 1))
    for name in GAUGES:
        stats += _stats(name, sa.cast(rows[name], sa.Double), rows.from_end == 1)
    return sa.select(
        rows.attempt_id,
        rows.rank,
        rows.minute,
        sa.func.count().label("num_reports"),
        sa.func.sum(sa.case((waited, 1), else_=0)).label("num_waits"),
        sa.func.min(rows.step).label("step_first"),
        sa.func.max(rows.step).label("step"),
        sa.func.max(rows.time).label("time"),
        *stats,
    ).group_by(rows.attempt_id, rows.rank, rows.minute)


def _over_ranks(rank: Any, name: str, weight: Any) -> list[sa.Label[Any]]:
    parts = {of: rank[f"{name}_{of}"] for of in ("min", "max", "mean", "last")}
    if name == RATE:
        return [sa.func.sum(part).label(f"{name}_{of}") for of, part in parts.items()]
    mean = sa.func.sum(parts["mean"] * weight) / sa.func.nullif(sa.func.sum(weight), 0)
    return [
        sa.func.min(parts["min"]).label(f"{name}_min"),
        sa.func.max(parts["max"]).label(f"{name}_max"),
        mean.label(f"{name}_mean"),
        sa.func.avg(parts["last"]).label(f"{name}_last"),
    ]


def per_job(dialect: str, attempt_id: int, begin: int, end: int) -> sa.Select[*tuple[Any, ...]]:
    """Minutes of all ranks as rolled up, made of the reports."""
    rank = per_rank(dialect, attempt_id, begin, end).subquery().c
    stats = _over_ranks(rank, RATE, None)
    for name in WAITS:
        stats += _over_ranks(rank, name, rank.num_waits)
    for name in GAUGES:
        stats += _over_ranks(rank, name, rank.num_reports)
    return sa.select(
        rank.attempt_id,
        rank.minute,
        sa.func.sum(rank.num_reports).label("num_reports"),
        sa.func.sum(rank.num_waits).label("num_waits"),
        sa.func.min(rank.step_first).label("step_first"),
        sa.func.max(rank.step).label("step"),
        sa.func.max(rank.time).label("time"),
        *stats,
        sa.func.count().label("num_ranks"),
        sa.func.max(rank.num_reports).label("num_rounds"),
    ).group_by(rank.attempt_id, rank.minute)


def per_source(dialect: str, attempt_id: int, begin: int, end: int) -> sa.Select[*tuple[Any, ...]]:
    """Minutes of each source as rolled up, made of its history."""
    progress = models.SourceProgress
    minute, observed = _minute_of(progress.time, dialect), progress.loss_count > 0
    by = (progress.source_id, minute)
    rows = (
        sa.select(
            progress,
            minute.label("minute"),
            sa.case((observed, progress.loss_sum / sa.cast(progress.loss_count, sa.Double))).label("loss"),
            sa.func.row_number().over(partition_by=by, order_by=progress.step.desc()).label("from_end"),
            sa.func.row_number().over(partition_by=(*by, observed), order_by=progress.step.desc()).label("of_its_kind"),
        )
        .where(progress.attempt_id == attempt_id, progress.time >= begin, progress.time < end)
        .subquery()
        .c
    )
    last = {
        name: sa.func.max(sa.case((rows.from_end == 1, rows[name]))).label(name)
        for name in ("ordinal", "epoch", "target_ppm")
    }
    loss = {stat.name: stat for stat in _stats("loss", rows.loss, rows.of_its_kind == 1)}
    return sa.select(
        rows.attempt_id,
        rows.minute,
        rows.source_id,
        sa.func.count().label("num_steps"),
        sa.func.max(rows.step).label("step"),
        sa.func.max(rows.time).label("time"),
        *last.values(),
        sa.func.sum(rows.tokens).label("tokens"),
        sa.func.sum(rows.loss_sum).label("loss_sum"),
        sa.func.sum(rows.loss_count).label("loss_count"),
        *(loss[f"loss_{of}"] for of in ("min", "max", "last")),
    ).group_by(rows.attempt_id, rows.minute, rows.source_id)


async def _upsert(session: AsyncSession, table: Any, rows: sa.Select[*tuple[Any, ...]]) -> None:
    names = [column.name for column in rows.selected_columns]
    insert = insert_into(session, table).from_select(names, rows)
    key = [column.name for column in table.__table__.primary_key]
    values = {name: insert.excluded[name] for name in names if name not in key}
    await session.execute(insert.on_conflict_do_update(index_elements=key, set_=values))


async def roll(session: AsyncSession, attempt_id: int, begin: int, end: int) -> None:
    """Roll up an attempt's minutes from ``begin`` to before ``end`` (Unix seconds), anew where they were before."""
    dialect = dialect_of(session)
    for table, made in ((models.RankRollup, per_rank), (models.JobRollup, per_job), (models.SourceRollup, per_source)):
        await _upsert(session, table, made(dialect, attempt_id, begin, end))
