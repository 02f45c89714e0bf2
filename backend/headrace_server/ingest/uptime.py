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
from .pace import MOST_S, Load, next_stretch, stretch_for_ranks

# A look at the clock comes each few seconds; this much more or less than that is no jitter (seconds).
TOLERANCE_S = 10.0
# Ranks count towards the load for so long after a report of their attempt (seconds).
_HEARD_S = 3 * MOST_S


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
        last = await repository.last_tick(session)
        anybody = await access.ids_in_progress(session)
        if last is not None:
            runtime.stretch = next_stretch(last[1], now - last[0], 0.0, 1.0)
        await repository.tick(session, now, runtime.stretch)
    if last is not None and anybody:
        runtime.downtime = Downtime(since=min(now, last[0]), until=now + runtime.settings.restart_grace_s)


async def tick(session: AsyncSession, runtime: Runtime) -> None:
    """Say that a server is up, and agree with all others on how far reports are stretched from now on."""
    now, settings = runtime.now(), runtime.settings
    load, runtime.load = runtime.load, Load()
    sizes = await repository.world_sizes(session, now - _HEARD_S)
    for_ranks = stretch_for_ranks(
        sizes, settings.report_every_s, settings.max_reports_per_s, settings.max_total_reports_per_s
    )
    alive_at, held = await repository.last_tick(session) or (now, 1.0)
    pressure = load.pressure(now - runtime.looked_at, settings.max_batches_at_once)
    runtime.stretch, runtime.looked_at = next_stretch(held, now - alive_at, pressure, for_ranks), now
    await repository.tick(session, now, runtime.stretch)
