"""SQL of changes that wait."""

from collections.abc import Sequence
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncSession

from .. import models

WAITING = ("awaiting_approval", "scheduled")


async def find(session: AsyncSession, job_id: int, change: UUID) -> models.MixChange | None:
    """A change of a job; locked with its job."""
    row = models.MixChange
    return await session.scalar(sa.select(row).where(row.job_id == job_id, row.uuid == change))


async def page(
    session: AsyncSession, job_id: int, *, states: Sequence[str] | None, before: int | None, limit: int
) -> Sequence[models.MixChange]:
    """Changes of a job, newest first."""
    row = models.MixChange
    query = sa.select(row).where(row.job_id == job_id)
    if states is not None:
        query = query.where(row.state.in_(states))
    if before is not None:
        query = query.where(row.id < before)
    return (await session.scalars(query.order_by(row.id.desc()).limit(limit))).all()


async def uuids(session: AsyncSession, ids: Sequence[int]) -> dict[int, UUID]:
    """The ids outside of changes, by row id."""
    row = models.MixChange
    found = await session.execute(sa.select(row.id, row.uuid).where(row.id.in_(ids)))
    return {held.id: held.uuid for held in found}


async def num_waiting(session: AsyncSession, job_id: int) -> int:
    """How many changes of a job wait."""
    row = models.MixChange
    query = sa.select(sa.func.count()).where(row.job_id == job_id, row.state.in_(WAITING))
    return await session.scalar(query) or 0


async def looked_at(session: AsyncSession, now: float) -> Sequence[models.MixChange]:
    """Changes whose turn may have come: those that start at a step, those whose time or end is here. Oldest first."""
    row = models.MixChange
    turn = sa.or_(row.starts == "step", row.at_time <= now, row.expires_at <= now)
    query = sa.select(row).where(row.state.in_(WAITING), turn)
    return (await session.scalars(query.order_by(row.id))).all()


async def waiting(session: AsyncSession, change_id: int) -> models.MixChange | None:
    """The change by row id, if it waits still; for one transaction at a time."""
    row = models.MixChange
    query = sa.select(row).where(row.id == change_id, row.state.in_(WAITING)).with_for_update()
    return await session.scalar(query.execution_options(populate_existing=True))


async def followers(session: AsyncSession, change_id: int) -> Sequence[models.MixChange]:
    """Changes that wait for another to become a version."""
    row = models.MixChange
    query = sa.select(row).where(row.follows == change_id, row.state.in_(WAITING))
    return (await session.scalars(query)).all()


async def became(session: AsyncSession, job_id: int, versions: Sequence[int]) -> Sequence[models.MixChange]:
    """Changes for a step that became one of these versions."""
    row = models.MixChange
    query = sa.select(row).where(row.job_id == job_id, row.starts == "step", row.version.in_(versions))
    return (await session.scalars(query)).all()
