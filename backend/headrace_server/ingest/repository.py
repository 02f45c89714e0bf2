"""SQL of ingest: a constant number of statements a batch, whatever its size; the large ones are built once."""

import json
from collections.abc import Iterable, Sequence
from functools import cache
from typing import Any
from uuid import UUID

import sqlalchemy as sa
from pydantic_core import from_json
from sqlalchemy.dialects import postgresql
from sqlalchemy.ext.asyncio import AsyncSession

from .. import models
from ..db import dialect_of, insert_for, insert_into
from .liveness import Cutoffs
from .records import REPORT_COLUMNS, Row

# Weight of a new report in the running token rate: 1 for an interval this long or longer (seconds).
_RATE_WINDOW_S = 20.0


_POSTGRES: Any = postgresql.dialect()  # type: ignore[no-untyped-call]
_REPORTED = ", ".join(REPORT_COLUMNS)


@cache
def _insert_arrays() -> str:
    """PostgreSQL: a batch as one array a column, which costs a third of a row of parameters each."""
    table: Any = models.RankReport.__table__
    kinds = {name: table.c[name].type.compile(_POSTGRES) for name in REPORT_COLUMNS}
    arrays = ", ".join(f"${i}::{kinds[name]}[]" for i, name in enumerate(REPORT_COLUMNS, start=3))
    return (
        f"INSERT INTO rank_report (attempt_id, received_at, {_REPORTED}) "
        f"SELECT $1::bigint, $2::double precision, * FROM unnest({arrays}) ON CONFLICT DO NOTHING RETURNING rank, seq"
    )


# SQLite: its writers are one after another, so what is held can be asked first, and the rest goes in as plain rows.
_HELD = (
    "SELECT held.rank, held.seq FROM json_each(?) AS new CROSS JOIN rank_report AS held ON held.attempt_id = ? "
    "AND held.rank = json_extract(new.value, '$[0]') AND held.seq = json_extract(new.value, '$[1]')"
)
_INSERT_ROWS = (
    f"INSERT INTO rank_report (attempt_id, received_at, {_REPORTED}) "
    f"VALUES ({', '.join('?' * (len(REPORT_COLUMNS) + 2))})"
)


@cache
def _upsert_states(dialect: str) -> Any:
    table = models.RankState.__table__
    held = table.c
    insert = insert_for(dialect, table)
    new = insert.excluded
    share = sa.case((new.interval_s >= _RATE_WINDOW_S, 1.0), else_=new.interval_s / sa.literal(_RATE_WINDOW_S))
    values: dict[str, Any] = {
        column.name: new[column.name] for column in held if column.name not in ("attempt_id", "rank")
    }
    values["tokens_per_s"] = held.tokens_per_s + (new.tokens_per_s - held.tokens_per_s) * share
    values["advanced_at"] = sa.case((new.step > held.step, new.advanced_at), else_=held.advanced_at)
    return insert.on_conflict_do_update(index_elements=["attempt_id", "rank"], set_=values, where=new.seq > held.seq)


@cache
def _add_progress(dialect: str) -> Any:
    table = models.SourceProgress.__table__
    held = table.c
    insert = insert_for(dialect, table)
    new = insert.excluded
    return insert.on_conflict_do_update(
        index_elements=["attempt_id", "step", "source_id"],
        set_={
            "tokens": held.tokens + new.tokens,
            "loss_sum": held.loss_sum + new.loss_sum,
            "loss_count": held.loss_count + new.loss_count,
        },
    )


def _pairs(rows: Sequence[Any]) -> set[tuple[int, int]]:
    return {(rank, seq) for rank, seq in rows}


async def insert_reports(
    session: AsyncSession, attempt_id: int, now: float, columns: list[list[Any]]
) -> set[tuple[int, int]]:
    """Store reports given column by column (REPORT_COLUMNS), no two with one identity; returns the new (rank, seq)."""
    connection = await session.connection()
    if dialect_of(session) == "postgresql":
        result = await connection.exec_driver_sql(_insert_arrays(), (attempt_id, now, *columns))
        return _pairs(result.all())
    identities = list(zip(columns[0], columns[1], strict=True))
    found = await connection.exec_driver_sql(_HELD, (json.dumps(identities), attempt_id))
    held = _pairs(found.all())
    rows = [(attempt_id, now, *row) for row in zip(*columns, strict=True) if (row[0], row[1]) not in held]
    if rows:
        await connection.exec_driver_sql(_INSERT_ROWS, rows)
    return set(identities) - held


async def upsert_states(session: AsyncSession, rows: Sequence[Row]) -> None:
    """Keep the newest report of each rank; an older one (by seq) changes nothing."""
    await session.execute(_upsert_states(dialect_of(session)), rows)


async def add_progress(session: AsyncSession, rows: Sequence[Row]) -> None:
    """Add to the per-source history; what several ranks report at one step is summed."""
    if rows:
        await session.execute(_add_progress(dialect_of(session)), rows)


async def target_of(session: AsyncSession, job_id: int, attempt: UUID) -> tuple[models.Attempt, int] | None:
    """The attempt a batch is for, and the number of the job's newest mix version."""
    newest = (
        sa.select(sa.func.max(models.MixVersion.version)).where(models.MixVersion.job_id == job_id).scalar_subquery()
    )
    query = sa.select(models.Attempt, newest).where(models.Attempt.uuid == attempt, models.Attempt.job_id == job_id)
    row = (await session.execute(query)).one_or_none()
    return None if row is None else (row[0], row[1])


_SHOWN = (
    *("rank", "dp_rank", "local_rank", "host", "received_at", "advanced_at", "step", "tokens_per_s"),
    *("wait_p50_ms", "wait_p99_ms", "wait_max_ms", "wait_share", "queue_depth", "rss_bytes", "dropped"),
    *("masked_tokens", "masked_at", "mix_version", "mix_revision"),
)


async def states_of(session: AsyncSession, attempt_id: int, *, after_rank: int | None, limit: int) -> list[Row]:
    """The latest of each rank of an attempt, by rank, at most ``limit`` after a rank.

    The cursors of all of them are decoded in one go: there are thousands, and each call costs more than its few bytes.
    """
    table: Any = models.RankState.__table__
    columns = [table.c[name] for name in _SHOWN]
    query = (
        sa.select(*columns, sa.cast(table.c.sources, sa.Text()))
        .where(table.c.attempt_id == attempt_id)
        .order_by(table.c.rank)
        .limit(limit)
    )
    if after_rank is not None:
        query = query.where(table.c.rank > after_rank)
    found = (await session.execute(query)).all()
    cursors = from_json("[" + ",".join(row[-1] for row in found) + "]")
    names = (*_SHOWN, "sources")
    return [dict(zip(names, (*row[:-1], sources), strict=True)) for row, sources in zip(found, cursors, strict=True)]


async def furthest_step(session: AsyncSession, attempt_id: int) -> int:
    """The newest step that any rank of an attempt has reported; 0 before the first."""
    state = models.RankState
    return await session.scalar(sa.select(sa.func.max(state.step)).where(state.attempt_id == attempt_id)) or 0


async def beside(session: AsyncSession, attempt_id: int, rank: int) -> tuple[int | None, int | None, int]:
    """The ranks before and after one, and the one furthest behind, of equals the one with the longest waits."""
    state = models.RankState
    those = state.attempt_id == attempt_id
    before = sa.select(sa.func.max(state.rank)).where(those, state.rank < rank).scalar_subquery()
    after = sa.select(sa.func.min(state.rank)).where(those, state.rank > rank).scalar_subquery()
    behind = sa.select(state.rank).where(those).order_by(state.step, state.wait_p99_ms.desc(), state.rank).limit(1)
    row = (await session.execute(sa.select(before, after, behind.scalar_subquery()))).one()
    return row[0], row[1], row[2]


def _count_if(condition: sa.ColumnElement[bool]) -> sa.Function[int]:
    return sa.func.sum(sa.case((condition, 1), else_=0))


async def totals_of(session: AsyncSession, cuts_by_attempt: dict[int, Cutoffs]) -> dict[int, sa.Row[Any]]:
    """For each attempt, its ranks counted by how alive they are, and its totals; none for one without reports."""
    rows: dict[int, sa.Row[Any]] = {}
    # Attempts with equal cut-offs (nearly all: they differ by world size only) share one statement.
    groups: dict[Cutoffs, list[int]] = {}
    for attempt_id, cuts in cuts_by_attempt.items():
        groups.setdefault(cuts, []).append(attempt_id)
    for cuts, attempt_ids in groups.items():
        for row in await session.execute(_totals(attempt_ids, cuts)):
            rows[row.attempt_id] = row
    return rows


def _totals(attempt_ids: Iterable[int], cuts: Cutoffs) -> sa.Select[*tuple[Any, ...]]:
    state = models.RankState
    heard = state.received_at >= cuts.late
    lost = state.received_at < cuts.lost
    stuck = sa.and_(heard, state.advanced_at < cuts.stuck)
    return (
        sa.select(
            state.attempt_id,
            sa.func.count().label("num_ranks"),
            _count_if(heard).label("num_heard"),
            _count_if(lost).label("num_lost"),
            sa.func.min(sa.case((lost, state.rank))).label("first_lost_rank"),
            sa.func.min(sa.case((lost, state.received_at))).label("lost_since"),
            _count_if(stuck).label("num_stuck"),
            sa.func.min(sa.case((stuck, state.rank))).label("first_stuck_rank"),
            sa.func.min(sa.case((stuck, state.advanced_at))).label("stuck_since"),
            sa.func.min(sa.case((heard, state.advanced_at))).label("idle_since"),
            sa.func.min(sa.case((~heard, state.rank))).label("first_quiet_rank"),
            sa.func.max(state.rank).label("last_rank"),
            sa.func.max(state.step).label("step"),
            sa.func.max(state.total_tokens).label("total_tokens"),
            sa.func.sum(sa.case((heard, state.tokens_per_s))).label("tokens_per_s"),
            sa.func.avg(sa.case((heard, state.wait_share))).label("wait_share"),
            sa.func.max(state.received_at).label("received_at"),
        )
        .where(state.attempt_id.in_(list(attempt_ids)))
        .group_by(state.attempt_id)
    )


async def furthest_revisions(session: AsyncSession, attempt_ids: Sequence[int]) -> dict[int, str]:
    """For each attempt, the mix revision in force on the rank that is furthest."""
    state = models.RankState
    place = sa.func.row_number().over(partition_by=state.attempt_id, order_by=(state.step.desc(), state.rank))
    ranked = (
        sa.select(state.attempt_id, state.mix_revision, place.label("place"))
        .where(state.attempt_id.in_(attempt_ids))
        .subquery()
    )
    query = sa.select(ranked.c.attempt_id, ranked.c.mix_revision).where(ranked.c.place == 1)
    return {row.attempt_id: row.mix_revision for row in await session.execute(query)}


async def applied_counts(session: AsyncSession, wanted: Sequence[tuple[int, int, int, int | None]]) -> dict[int, int]:
    """For each (key, attempt, version, agreed step): ranks with it in force, by what they say or where they are."""
    state = models.RankState
    counts = []
    for key, attempt_id, version, agreed_step in wanted:
        applied = state.mix_version >= version
        if agreed_step is not None:
            applied = sa.or_(applied, state.step >= agreed_step)
        counts.append(
            sa.select(sa.literal(key).label("key"), sa.func.count().label("num")).where(
                state.attempt_id == attempt_id, applied
            )
        )
    return {row.key: row.num for row in await session.execute(sa.union_all(*counts))}


async def last_heard(session: AsyncSession, attempt_ids: Sequence[int], rank: int) -> dict[int, float]:
    """When this rank of each attempt last reported; none for one that never did."""
    state = models.RankState
    query = sa.select(state.attempt_id, state.received_at).where(state.attempt_id.in_(attempt_ids), state.rank == rank)
    return {row.attempt_id: row.received_at for row in await session.execute(query)}


async def behind(
    session: AsyncSession, attempt_id: int, *, version: int, step: int, limit: int
) -> tuple[int, Sequence[sa.Row[int, float]]]:
    """How many ranks have neither the version in force nor reached its step, and the first (rank, last heard)."""
    state = models.RankState
    where = sa.and_(
        state.attempt_id == attempt_id,
        state.step < step,
        sa.or_(state.mix_version.is_(None), state.mix_version < version),
    )
    count = await session.scalar(sa.select(sa.func.count()).where(where))
    query = sa.select(state.rank, state.received_at).where(where).order_by(state.received_at, state.rank).limit(limit)
    return count or 0, (await session.execute(query)).all()


async def progress_bounds(
    session: AsyncSession, attempt_ids: Sequence[int], window_steps: int
) -> Sequence[sa.Row[int, int, str, int, int]]:
    """(attempt, step, source, ordinal, target ppm) at each attempt's newest step and the first within the window."""
    progress = models.SourceProgress
    newest = (
        sa.select(progress.attempt_id, sa.func.max(progress.step).label("last"))
        .where(progress.attempt_id.in_(attempt_ids))
        .group_by(progress.attempt_id)
        .subquery()
    )
    oldest = (
        sa.select(progress.attempt_id, newest.c.last, sa.func.min(progress.step).label("first"))
        .join(newest, newest.c.attempt_id == progress.attempt_id)
        .where(progress.step >= newest.c.last - window_steps)
        .group_by(progress.attempt_id, newest.c.last)
        .subquery()
    )
    query = (
        sa.select(progress.attempt_id, progress.step, models.JobSource.name, progress.ordinal, progress.target_ppm)
        .join(oldest, oldest.c.attempt_id == progress.attempt_id)
        .join(models.JobSource, models.JobSource.id == progress.source_id)
        .where(sa.or_(progress.step == oldest.c.first, progress.step == oldest.c.last))
        .order_by(progress.attempt_id, progress.step)
    )
    return (await session.execute(query)).all()


async def tick(session: AsyncSession, now: float, stretch: float) -> None:
    """Say that a server is up, and how far reports are stretched."""
    insert = insert_into(session, models.ServerClock).values(id=1, alive_at=now, stretch=stretch)
    changed = {"alive_at": now, "stretch": stretch}
    await session.execute(insert.on_conflict_do_update(index_elements=["id"], set_=changed))


async def last_tick(session: AsyncSession) -> tuple[float, float] | None:
    """When a server last said that it was up, and the stretch then; nobody else says so until the session ends."""
    clock = models.ServerClock
    row = (
        await session.execute(sa.select(clock.alive_at, clock.stretch).where(clock.id == 1).with_for_update())
    ).first()
    return None if row is None else (row.alive_at, row.stretch)


async def world_sizes(session: AsyncSession, heard_since: float) -> Sequence[int]:
    """How many ranks each attempt has that is live and was heard of since a time."""
    attempt, state = models.Attempt, models.RankState
    heard = sa.exists().where(state.attempt_id == attempt.id, state.received_at >= heard_since)
    return (await session.scalars(sa.select(attempt.world_size).where(attempt.state == "live", heard))).all()


async def heard_by(session: AsyncSession, now: float) -> None:
    """No rank was heard, nor advanced, later than ``now``."""
    state = models.RankState
    for column in (state.received_at, state.advanced_at):
        await session.execute(sa.update(state).where(column > now).values({column.key: now}))
