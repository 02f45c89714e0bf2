"""SQL of events: a message that a transaction sends when it commits."""

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncSession

from .wire import CHANNEL


async def tell(session: AsyncSession, payload: str) -> None:
    """Have the transaction tell every process when, and only if, it commits. PostgreSQL only."""
    await session.execute(sa.select(sa.func.pg_notify(CHANNEL, payload)))
