"""When the server was up: silence while nobody listened is held against no rank."""

from sqlalchemy.ext.asyncio import AsyncSession

from ..jobs import access
from ..runtime import Runtime
from . import repository
from .liveness import Downtime


async def begin(runtime: Runtime) -> None:
    """Find out since when nobody was listening, and say that a server is up now."""
    now = runtime.now()
    async with runtime.database.write() as session:
        alive_at = await repository.last_tick(session)
        anybody = await access.ids_in_progress(session)
        await repository.tick(session, now)
    if alive_at is not None and anybody:
        runtime.downtime = Downtime(since=min(now, alive_at), until=now + runtime.settings.restart_grace_s)


async def tick(session: AsyncSession, now: float) -> None:
    """Say that a server is up."""
    await repository.tick(session, now)
