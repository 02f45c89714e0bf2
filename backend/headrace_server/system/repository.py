"""SQL of the service's own state: the database, and reports over all jobs."""

from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncSession

from .. import models
from ..db import dialect_of
from ..ingest.pace import LEAST_S

# A rank counts as reporting for this many of its intervals, and this many seconds more.
_HEARD_INTERVALS, _HEARD_S = 3.0, 10.0


async def size_bytes(session: AsyncSession) -> int:
    """The size of the database: all of its tables and indexes."""
    if dialect_of(session) == "sqlite":
        pages = await session.scalar(sa.text("SELECT page_count * page_size FROM pragma_page_count, pragma_page_size"))
        return int(pages or 0)
    return int(await session.scalar(sa.text("SELECT pg_database_size(current_database())")) or 0)


async def version(session: AsyncSession) -> str:
    """The version of SQLite or PostgreSQL."""
    query = "SELECT sqlite_version()" if dialect_of(session) == "sqlite" else "SHOW server_version"
    return str(await session.scalar(sa.text(query)))


async def reporting(session: AsyncSession, now: float) -> sa.Row[int, float | None, float | None, float | None]:
    """(ranks, reports a second, mean lag, largest lag) of the ranks of live attempts that were heard lately."""
    state, attempt = models.RankState, models.Attempt
    interval: Any = sa.case((state.interval_s > LEAST_S, state.interval_s), else_=LEAST_S)
    late = state.received_at - state.time
    lag: Any = sa.case((late > 0, late), else_=0.0)
    query = (
        sa.select(sa.func.count(), sa.func.sum(1.0 / interval), sa.func.avg(lag), sa.func.max(lag))
        .select_from(state)
        .join(attempt, attempt.id == state.attempt_id)
        .where(attempt.state == "live", state.received_at >= now - _HEARD_INTERVALS * interval - _HEARD_S)
    )
    return (await session.execute(query)).one()


async def reports_by_minute(session: AsyncSession, since: float) -> Sequence[sa.Row[int, int]]:
    """(minute, reports) of every job, from the minutes since a time that are rolled up, the oldest first."""
    rollup, attempt = models.JobRollup, models.Attempt
    recent = sa.select(attempt.id).where(sa.or_(attempt.state == "live", attempt.ended_at >= since))
    query = sa.select(rollup.minute, sa.func.sum(rollup.num_reports)).group_by(rollup.minute).order_by(rollup.minute)
    query = query.where(rollup.attempt_id.in_(recent), rollup.minute >= since)
    return (await session.execute(query)).all()
