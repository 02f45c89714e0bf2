"""SQL of projects and their members."""

from collections.abc import Sequence

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncSession

from ..db import insert_into
from ..models import Member, Project, User


async def by_name(session: AsyncSession, name: str, *, lock: bool = False) -> Project | None:
    """The project of this name; ``lock`` makes other changes of it wait, and reads it anew once they are done."""
    query = sa.select(Project).where(Project.name == name)
    if lock:
        query = query.with_for_update().execution_options(populate_existing=True)
    return await session.scalar(query)


async def requires_approval(session: AsyncSession, project_id: int) -> bool:
    """Whether changes of the mix in the project need a second person."""
    query = sa.select(Project.requires_approval).where(Project.id == project_id)
    return bool(await session.scalar(query))


async def page(
    session: AsyncSession, project_ids: frozenset[int] | None, *, archived: bool, after_id: int | None, limit: int
) -> Sequence[Project]:
    """Of these projects (None: all) those that are archived or not, in the order they were made."""
    query = sa.select(Project).order_by(Project.id).limit(limit)
    query = query.where(Project.archived_at.is_not(None) if archived else Project.archived_at.is_(None))
    if project_ids is not None:
        query = query.where(Project.id.in_(project_ids))
    if after_id is not None:
        query = query.where(Project.id > after_id)
    return (await session.scalars(query)).all()


async def ensure(session: AsyncSession, name: str, now: float) -> bool:
    """Make the project unless it is there; says whether it did."""
    insert = insert_into(session, Project).values(name=name, created_at=now)
    insert = insert.on_conflict_do_nothing(index_elements=["name"])
    return (await session.execute(insert.returning(Project.id))).one_or_none() is not None


async def member(session: AsyncSession, project_id: int, user_id: int) -> Member | None:
    """Somebody's membership."""
    return await session.get(Member, (project_id, user_id), populate_existing=True)


async def members(
    session: AsyncSession, project_id: int, *, after_id: int | None, limit: int
) -> Sequence[sa.Row[Member, User]]:
    """Members in the order their accounts were made."""
    query = sa.select(Member, User).join(User, User.id == Member.user_id).where(Member.project_id == project_id)
    if after_id is not None:
        query = query.where(User.id > after_id)
    return (await session.execute(query.order_by(User.id).limit(limit))).all()


async def admins(session: AsyncSession, project_id: int) -> frozenset[int]:
    """Row ids of the users who are admins of the project and can sign in."""
    query = sa.select(Member.user_id).join(User, User.id == Member.user_id)
    query = query.where(Member.project_id == project_id, Member.role == "admin", User.disabled_at.is_(None))
    return frozenset(await session.scalars(query))
