"""SQL of users: who there is, what roles they have, and ending or renewing their sessions."""

from collections.abc import Sequence
from typing import cast

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncSession

from ..models import Member, Project, Session, User
from ..principal import Role


async def by_name(session: AsyncSession, username: str, *, lock: bool = False) -> User | None:
    """The user of this name; ``lock`` makes other changes of it wait."""
    query = sa.select(User).where(User.username == username)
    return await session.scalar(query.with_for_update() if lock else query)


async def names_taken(session: AsyncSession, name: str) -> frozenset[str]:
    """User names that are ``name``, or it with something appended."""
    query = sa.select(User.username).where(User.username.startswith(name, autoescape=True))
    return frozenset(await session.scalars(query))


async def count(session: AsyncSession) -> int:
    """How many users there are."""
    return await session.scalar(sa.select(sa.func.count()).select_from(User)) or 0


async def page(session: AsyncSession, *, after_id: int | None, limit: int) -> Sequence[User]:
    """Users in the order they were added."""
    query = sa.select(User).order_by(User.id).limit(limit)
    if after_id is not None:
        query = query.where(User.id > after_id)
    return (await session.scalars(query)).all()


async def lock_administrators(session: AsyncSession) -> frozenset[int]:
    """Row ids of the administrators who can sign in; changes of them wait, and ours see those before."""
    query = sa.select(User.id).where(User.is_admin, User.disabled_at.is_(None)).order_by(User.id)
    return frozenset(await session.scalars(query.with_for_update()))


async def roles_of(session: AsyncSession, user_id: int) -> dict[int, Role]:
    """A user's role by project row id."""
    query = sa.select(Member.project_id, Member.role).where(Member.user_id == user_id)
    return {row.project_id: cast("Role", row.role) for row in await session.execute(query)}


async def named_roles_of(session: AsyncSession, user_id: int) -> dict[str, Role]:
    """A user's role by project name."""
    query = sa.select(Project.name, Member.role).join(Member, Member.project_id == Project.id)
    query = query.where(Member.user_id == user_id).order_by(Project.name)
    return {row.name: cast("Role", row.role) for row in await session.execute(query)}


async def end_sessions(session: AsyncSession, user_id: int, *, but: int | None = None) -> None:
    """End every session of a user, but the one with this row id."""
    await session.execute(sa.delete(Session).where(Session.user_id == user_id, Session.id != (but or 0)))


async def renew_sessions(session: AsyncSession, user_id: int) -> None:
    """Give every session of a user a new token at its next request."""
    await session.execute(sa.update(Session).where(Session.user_id == user_id).values(rotated_at=0.0))
