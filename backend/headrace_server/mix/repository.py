"""SQL of mix versions and activations."""

from collections.abc import Collection, Mapping, Sequence
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncSession

from .. import models
from ..db import insert_into


async def newest(session: AsyncSession, job_ids: Sequence[int]) -> dict[int, models.MixVersion]:
    """The newest version of each job."""
    version = models.MixVersion
    top = (
        sa.select(version.job_id, sa.func.max(version.version).label("version"))
        .where(version.job_id.in_(job_ids))
        .group_by(version.job_id)
        .subquery()
    )
    query = sa.select(version).join(top, sa.and_(top.c.job_id == version.job_id, top.c.version == version.version))
    return {row.job_id: row for row in await session.scalars(query)}


async def by_number(session: AsyncSession, job_id: int, number: int) -> models.MixVersion | None:
    """One version of a job."""
    version = models.MixVersion
    return await session.scalar(sa.select(version).where(version.job_id == job_id, version.version == number))


async def by_numbers(session: AsyncSession, job_id: int, numbers: Collection[int]) -> Sequence[models.MixVersion]:
    """Those of these versions that a job has."""
    version = models.MixVersion
    query = sa.select(version).where(version.job_id == job_id, version.version.in_(numbers))
    return (await session.scalars(query)).all()


async def by_revision(session: AsyncSession, job_id: int, revision: str) -> models.MixVersion | None:
    """The version that a revision of a leader was imported as."""
    version = models.MixVersion
    return await session.scalar(sa.select(version).where(version.job_id == job_id, version.revision == revision))


async def configured(session: AsyncSession, job_id: int) -> Sequence[models.MixVersion]:
    """Versions that came from configuration, newest first."""
    version = models.MixVersion
    query = sa.select(version).where(version.job_id == job_id, version.origin == "config")
    return (await session.scalars(query.order_by(version.version.desc()))).all()


async def page(session: AsyncSession, job_id: int, *, before: int | None, limit: int) -> Sequence[models.MixVersion]:
    """Versions newest first."""
    version = models.MixVersion
    query = sa.select(version).where(version.job_id == job_id)
    if before is not None:
        query = query.where(version.version < before)
    return (await session.scalars(query.order_by(version.version.desc()).limit(limit))).all()


async def supersede_unagreed(session: AsyncSession, job_id: int, before: int, now: float) -> Sequence[int]:
    """Mark edits before version ``before`` that no leader has agreed yet as superseded; returns their numbers."""
    version = models.MixVersion
    result = await session.execute(
        sa.update(version)
        .where(
            version.job_id == job_id,
            version.version < before,
            version.origin != "config",
            version.agreed_at.is_(None),
            version.superseded_at.is_(None),
        )
        .values(superseded_at=now)
        .returning(version.version)
    )
    return [row[0] for row in result]


async def activation(session: AsyncSession, attempt_id: int, revision: str) -> models.MixActivation | None:
    """The activation of a revision by an attempt."""
    row = models.MixActivation
    return await session.scalar(sa.select(row).where(row.attempt_id == attempt_id, row.revision == revision))


async def versions_of_revisions(session: AsyncSession, revisions: dict[int, str]) -> dict[int, int]:
    """The version that each job's revision (by the job's row id) was recorded as; none for one never recorded."""
    row = models.MixActivation
    wanted = [sa.and_(row.job_id == job_id, row.revision == name) for job_id, name in revisions.items()]
    query = sa.select(row.job_id, sa.func.max(row.version).label("version")).where(sa.or_(sa.false(), *wanted))
    return {found.job_id: found.version for found in await session.execute(query.group_by(row.job_id))}


async def activations(
    session: AsyncSession, job_id: int, *, lineage: UUID | None, from_step: int | None
) -> Sequence[sa.Row[models.MixActivation, UUID]]:
    """Activations with their attempt's id, by step and then by when they were recorded."""
    row = models.MixActivation
    query = (
        sa.select(row, models.Attempt.uuid)
        .join(models.Attempt, models.Attempt.id == row.attempt_id)
        .where(row.job_id == job_id)
        .order_by(row.step, row.id)
    )
    if lineage is not None:
        query = query.where(row.lineage == lineage)
    if from_step is not None:
        query = query.where(row.step >= from_step)
    return (await session.execute(query)).all()


async def open_versions(session: AsyncSession, job_id: int) -> Sequence[models.MixVersion]:
    """Versions neither superseded nor applied everywhere, oldest first."""
    version = models.MixVersion
    query = sa.select(version).where(
        version.job_id == job_id, version.superseded_at.is_(None), version.applied_at.is_(None)
    )
    return (await session.scalars(query.order_by(version.version))).all()


async def agreed_in(
    session: AsyncSession, attempt_ids: Sequence[int], versions: Collection[int]
) -> set[tuple[int, int]]:
    """(attempt, version) of those of these versions that leaders of these attempts agreed on."""
    row = models.MixActivation
    query = sa.select(row.attempt_id, row.version).where(row.attempt_id.in_(attempt_ids), row.version.in_(versions))
    return {(found.attempt_id, found.version) for found in await session.execute(query)}


async def polls(session: AsyncSession, job_ids: Sequence[int]) -> dict[int, float]:
    """When each job's leader last asked for the mix, as far as it is written."""
    row = models.LeaderPoll
    query = sa.select(row.job_id, row.polled_at).where(row.job_id.in_(job_ids))
    return {found.job_id: found.polled_at for found in await session.execute(query)}


async def note_polls(session: AsyncSession, polls: Mapping[int, float]) -> None:
    """Write when leaders asked; a time never goes back."""
    insert = insert_into(session, models.LeaderPoll)
    later = insert.excluded.polled_at
    statement = insert.on_conflict_do_update(
        index_elements=["job_id"], set_={"polled_at": later}, where=models.LeaderPoll.polled_at < later
    )
    rows = [{"job_id": job_id, "polled_at": at} for job_id, at in sorted(polls.items())]
    await session.execute(statement, rows)
