"""When the server was up and its clock went on: silence while nobody listened is held against no rank.

A clock that was set, a machine that slept and a process that was stopped look alike from here: between two looks the
clock moved by something else than the time that passed, or a look came far later than it should have.
"""

from dataclasses import dataclass

from sqlalchemy.ext.asyncio import AsyncSession

from ..jobs import access
from ..runtime import Runtime
from . import repository
from .liveness import Downtime

# A look at the clock comes each few seconds; this much more or less than that is no jitter (seconds).
TOLERANCE_S = 10.0


@dataclass(frozen=True)
class Look:
    """What the clock said, in Unix seconds, and time as it passes whatever the clock is set to, both at one moment."""

    wall: float
    steady: float


def leap_s(before: Look, after: Look, late_s: float) -> float:
    """Seconds that went by unheard between two looks, the second of which came ``late_s`` later than planned.

    Negative if the clock was set back, 0 within the tolerance.
    """
    jumped = (after.wall - before.wall) - (after.steady - before.steady)
    if abs(jumped) > TOLERANCE_S:
        return jumped
    return late_s if late_s > TOLERANCE_S else 0.0


async def leapt(runtime: Runtime, before: Look, after: Look, leap: float) -> None:
    """Hold no silence against anybody that the leap made, and give clients time to be heard.

    After the clock was set back, what was heard in what is now the future counts as heard now; or it would look alive
    until that time has come again.
    """
    since = before.wall if leap > 0 else after.wall
    runtime.downtime = Downtime(since=since, until=after.wall + runtime.settings.restart_grace_s)
    if leap < 0:
        async with runtime.database.write() as session:
            await repository.heard_by(session, after.wall)


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
