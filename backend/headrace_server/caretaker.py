"""What the server does for itself: says that it is up, writes when keys were used, notes its own downtime."""

import asyncio
import logging

from .auth import repository as auth
from .ingest import repository as ingest
from .ingest.liveness import Downtime
from .jobs import repository as jobs
from .runtime import Runtime

log = logging.getLogger(__name__)

TICK_S = 5.0
_KEY_USE_S = 60.0


async def note_downtime(runtime: Runtime) -> None:
    """Find out since when nobody was listening, so that the silence is not held against the ranks."""
    now = runtime.now()
    async with runtime.database.write() as session:
        alive_at = await ingest.last_tick(session)
        anybody = await jobs.ids_in_progress(session)
        await ingest.tick(session, now)
    if alive_at is not None and anybody:
        runtime.downtime = Downtime(since=min(now, alive_at), until=now + runtime.settings.restart_grace_s)


async def tick(runtime: Runtime, *, key_uses: bool) -> None:
    """Say that the server is up and, when asked to, when keys were last used."""
    uses = dict(runtime.key_uses) if key_uses else {}
    async with runtime.database.write() as session:
        await ingest.tick(session, runtime.now())
        await auth.note_key_uses(session, uses)
    for key_hash, at in uses.items():
        if runtime.key_uses.get(key_hash) == at:
            del runtime.key_uses[key_hash]


async def run(runtime: Runtime) -> None:
    """Tick until cancelled; a failure is logged and the next tick tries again."""
    ticks = 0
    while True:
        await asyncio.sleep(TICK_S)
        ticks += 1
        try:
            await tick(runtime, key_uses=ticks % round(_KEY_USE_S / TICK_S) == 0)
        except Exception:
            log.exception("the caretaker's tick failed")
