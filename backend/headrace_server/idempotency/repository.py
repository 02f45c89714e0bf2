"""SQL of replies that are given again."""

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncSession

from .. import models
from ..db import insert_into

_ROW = models.IdempotencyKey


async def claim(session: AsyncSession, *, caller: str, key: str, digest: bytes, now: float) -> bool:
    """Take a key for this transaction; False when it is taken. Waits for a transaction that holds it to end."""
    insert = insert_into(session, _ROW).values(
        caller=caller, key=key, digest=digest, status=None, headers=None, body=None, created_at=now
    )
    taken = await session.execute(insert.on_conflict_do_nothing(index_elements=["caller", "key"]).returning(_ROW.key))
    return taken.one_or_none() is not None


async def find(session: AsyncSession, caller: str, key: str) -> models.IdempotencyKey | None:
    """What the key was taken for."""
    return await session.scalar(sa.select(_ROW).where(_ROW.caller == caller, _ROW.key == key))


async def keep(
    session: AsyncSession, caller: str, key: str, *, status: int, headers: dict[str, str], body: bytes
) -> None:
    """Keep the reply under its key."""
    mine = sa.and_(_ROW.caller == caller, _ROW.key == key)
    await session.execute(sa.update(_ROW).where(mine).values(status=status, headers=headers, body=body))


async def drop(session: AsyncSession, *, before: float, caller: str | None = None, key: str | None = None) -> None:
    """Forget what is older: one key, or for None all."""
    old = sa.delete(_ROW).where(_ROW.created_at < before)
    await session.execute(old if key is None else old.where(_ROW.caller == caller, _ROW.key == key))
