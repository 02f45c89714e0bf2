"""SQL of users, sessions and keys."""

from collections.abc import Sequence
from typing import cast
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncSession

from .. import models
from ..principal import Role


async def user_by_name(session: AsyncSession, username: str) -> models.User | None:
    """The user of this name."""
    return await session.scalar(sa.select(models.User).where(models.User.username == username))


async def num_users(session: AsyncSession) -> int:
    """How many users there are."""
    return await session.scalar(sa.select(sa.func.count()).select_from(models.User)) or 0


async def user_of_session(session: AsyncSession, token_hash: bytes, now: float) -> models.User | None:
    """The user of a session that has not expired, unless disabled."""
    return await session.scalar(
        sa.select(models.User)
        .join(models.Session, models.Session.user_id == models.User.id)
        .where(
            models.Session.token_hash == token_hash, models.Session.expires_at > now, models.User.disabled_at.is_(None)
        )
    )


async def roles_of(session: AsyncSession, user_id: int) -> dict[int, Role]:
    """A user's role by project row id."""
    query = sa.select(models.Member.project_id, models.Member.role).where(models.Member.user_id == user_id)
    return {row.project_id: cast("Role", row.role) for row in await session.execute(query)}


async def key_by_hash(session: AsyncSession, key_hash: bytes, now: float) -> models.ApiKey | None:
    """The key with this hash, if neither revoked nor expired."""
    key = models.ApiKey
    return await session.scalar(
        sa.select(key).where(
            key.key_hash == key_hash,
            key.revoked_at.is_(None),
            sa.or_(key.expires_at.is_(None), key.expires_at > now),
        )
    )


async def key_of_project(session: AsyncSession, project_id: int, key_id: UUID) -> models.ApiKey | None:
    """A key of the project, revoked or not."""
    return await session.scalar(
        sa.select(models.ApiKey).where(models.ApiKey.project_id == project_id, models.ApiKey.id == key_id)
    )


async def keys_of_project(session: AsyncSession, project_id: int) -> Sequence[models.ApiKey]:
    """Keys of the project that are not revoked, newest first."""
    key = models.ApiKey
    query = sa.select(key).where(key.project_id == project_id, key.revoked_at.is_(None))
    return (await session.scalars(query.order_by(key.created_at.desc()))).all()


async def drop_session(session: AsyncSession, token_hash: bytes) -> None:
    """End one session."""
    await session.execute(sa.delete(models.Session).where(models.Session.token_hash == token_hash))


async def drop_sessions_of(session: AsyncSession, user_id: int) -> None:
    """End every session of a user."""
    await session.execute(sa.delete(models.Session).where(models.Session.user_id == user_id))


async def drop_expired_sessions(session: AsyncSession, now: float) -> None:
    """Forget sessions that have expired."""
    await session.execute(sa.delete(models.Session).where(models.Session.expires_at <= now))


async def note_key_uses(session: AsyncSession, uses: dict[bytes, float]) -> None:
    """Write when keys were last used."""
    for key_hash, at in sorted(uses.items()):
        await session.execute(
            sa.update(models.ApiKey).where(models.ApiKey.key_hash == key_hash).values(last_used_at=at)
        )
