"""SQL of projects."""

from collections.abc import Sequence

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncSession

from .. import models
from ..db import insert_into


async def by_name(session: AsyncSession, name: str) -> models.Project | None:
    """The project of this name."""
    return await session.scalar(sa.select(models.Project).where(models.Project.name == name))


async def requires_approval(session: AsyncSession, project_id: int) -> bool:
    """Whether changes of the mix in the project need a second person."""
    query = sa.select(models.Project.requires_approval).where(models.Project.id == project_id)
    return bool(await session.scalar(query))


async def visible(session: AsyncSession, project_ids: frozenset[int] | None) -> Sequence[models.Project]:
    """These projects, or all of them for None, by name."""
    query = sa.select(models.Project).order_by(models.Project.name)
    if project_ids is not None:
        query = query.where(models.Project.id.in_(project_ids))
    return (await session.scalars(query)).all()


async def ensure(session: AsyncSession, name: str, now: float) -> None:
    """Make the project unless it is there."""
    insert = insert_into(session, models.Project).values(name=name, created_at=now)
    await session.execute(insert.on_conflict_do_nothing(index_elements=["name"]))
