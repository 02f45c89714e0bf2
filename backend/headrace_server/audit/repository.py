"""SQL of the audit log: append and read, nothing else."""

from collections.abc import Sequence
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncSession

from .. import models


def append(session: AsyncSession, event: models.AuditEvent) -> None:
    """Add an event to the transaction."""
    session.add(event)


async def page(
    session: AsyncSession,
    *,
    projects: frozenset[int] | None,
    job_id: int | None,
    before_id: int | None,
    limit: int,
) -> Sequence[sa.Row[models.AuditEvent, str, UUID]]:
    """Events newest first as (event, project name, job uuid); a None filter means any."""
    query = (
        sa.select(models.AuditEvent, models.Project.name, models.Job.uuid)
        .outerjoin(models.Project, models.Project.id == models.AuditEvent.project_id)
        .outerjoin(models.Job, models.Job.id == models.AuditEvent.job_id)
        .order_by(models.AuditEvent.id.desc())
        .limit(limit)
    )
    if projects is not None:
        query = query.where(models.AuditEvent.project_id.in_(projects))
    if job_id is not None:
        query = query.where(models.AuditEvent.job_id == job_id)
    if before_id is not None:
        query = query.where(models.AuditEvent.id < before_id)
    return (await session.execute(query)).all()
