"""SQL of the provider's identities."""

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncSession

from ..models import Identity, User


async def user_of(session: AsyncSession, issuer: str, subject: str) -> User | None:
    """Who this is here."""
    query = sa.select(User).join(Identity, Identity.user_id == User.id)
    return await session.scalar(query.where(Identity.issuer == issuer, Identity.subject == subject))


async def add(session: AsyncSession, user: User, issuer: str, subject: str, now: float) -> None:
    """Say who somebody of the provider is here. Raises IntegrityError when two requests say so at once."""
    session.add(Identity(user_id=user.id, issuer=issuer, subject=subject, created_at=now))
    await session.flush()
