"""What the server does for itself: says that it is up, watches its clock, notes what was used, forgets what is over."""

import asyncio
import logging

from .auth import sessions
from .idempotency import service as idempotency
from .ingest import uptime
from .keys import service as keys
from .mix import service as mix
from .runtime import Runtime

log = logging.getLogger(__name__)

TICK_S = 5.0
_KEY_USE_S = 60.0


async def tick(runtime: Runtime, *, key_uses: bool) -> None:
    """Say that the server is up and when leaders asked for the mix.

    When asked to, write when keys were last used, and forget logins and repeatable requests that are over.
    """
    uses = dict(runtime.key_uses) if key_uses else {}
    polls = dict(runtime.leader_polls)
    if key_uses:
        async with runtime.database.write() as session:
            await sessions.tidy(session, runtime.settings, runtime.now())
    async with runtime.database.write() as session:
        await uptime.tick(session, runtime)
        await keys.note_uses(session, uses)
        await mix.note_polls(session, polls)
        if key_uses:
            await idempotency.forget(session, runtime.now())
    for job_id, at in polls.items():
        if runtime.leader_polls.get(job_id) == at:
            del runtime.leader_polls[job_id]
    for key_hash, at in uses.items():
        if runtime.key_uses.get(key_hash) == at:
            del runtime.key_uses[key_hash]


def look(runtime: Runtime) -> uptime.Look:
    """The clock, and time as it passes."""
    return uptime.Look(runtime.now(), runtime.steady())


async def watch_clock(runtime: Runtime, before: uptime.Look, late_s: float) -> uptime.Look:
    """A new look at the clock, ``late_s`` after it was due; where time leapt since, that is held against nobody."""
    after = look(runtime)
    leap = uptime.leap_s(before, after, late_s)
    if leap:
        log.warning("time leapt by %.0f s: the clock was set, or this process was not running", leap)
        await uptime.leapt(runtime, before, after, leap)
    return after


async def run(runtime: Runtime) -> None:
    """Tick until cancelled; a failure is logged and the next tick tries again."""
    ticks = 0
    seen = look(runtime)
    loop = asyncio.get_running_loop()
    while True:
        due_at = loop.time() + TICK_S
        await asyncio.sleep(TICK_S)
        ticks += 1
        try:
            seen = await watch_clock(runtime, seen, loop.time() - due_at)
            await tick(runtime, key_uses=ticks % round(_KEY_USE_S / TICK_S) == 0)
        except Exception:
            log.exception("the caretaker's tick failed")
