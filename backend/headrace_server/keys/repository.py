"""SQL of API keys."""

from collections.abc import Mapping, Sequence
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncSession

from ..models import ApiKey


async def by_hash(session: AsyncSession, key_hash: bytes, now: float) -> ApiKey | None:
    """The key with this hash, if neither revoked nor expired."""
    return await session.scalar(
        sa.select(ApiKey).where(
            ApiKey.key_hash == key_hash,
            ApiKey.revoked_at.is_(None),
            sa.or_(ApiKey.expires_at.is_(None), ApiKey.expires_at > now),
        )
    )


async def of_project(session: AsyncSession, project_id: int, key_id: UUID, *, lock: bool = False) -> ApiKey | None:
    """A key of the project, revoked or not; ``lock`` makes other changes of it wait."""
    query = sa.select(ApiKey).where(ApiKey.project_id == project_id, ApiKey.id == key_id)
    return await session.scalar(query.with_for_update() if lock else query)


async def page(
    session: AsyncSession, project_id: int, *, after: tuple[float, UUID] | None, limit: int
) -> Sequence[ApiKey]:
    """Keys of the project that are not revoked, newest first, after the one made at (time, id)."""
    query = sa.select(ApiKey).where(ApiKey.project_id == project_id, ApiKey.revoked_at.is_(None))
    if after is not None:
        made_at, key_id = after
        older = sa.and_(ApiKey.created_at == made_at, ApiKey.id < key_id)
        query = query.where(sa.or_(ApiKey.created_at < made_at, older))
    return (await session.scalars(query.order_by(ApiKey.created_at.desc(), ApiKey.id.desc()).limit(limit))).all()


async def note_uses(session: AsyncSession, uses: Mapping[bytes, float]) -> None:
    """Write when keys, by their hash, were last used."""
    for key_hash, at in sorted(uses.items()):
        await session.execute(sa.update(ApiKey).where(ApiKey.key_hash == key_hash).values(last_used_at=at))
