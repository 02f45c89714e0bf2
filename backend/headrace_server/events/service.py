"""One listener's stream: a snapshot, then what changes, with pings; no database connection in between."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from uuid import UUID

from ..errors import UnauthenticatedError
from ..jobs.summary import visible
from ..principal import Principal
from ..runtime import Runtime
from .broker import Event, Listener
from .schemas import SnapshotEvent

PING_S = 15.0
# A snapshot holds at most this many of the newest jobs; a listener that names its jobs gets just those.
_MAX_JOBS = 200


async def _snapshot(runtime: Runtime, listener: Listener) -> Event:
    async with runtime.database.read() as session:
        jobs = await visible(
            session,
            runtime,
            runtime.now(),
            projects=listener.projects,
            job_uuids=None if listener.jobs is None else sorted(listener.jobs),
            limit=_MAX_JOBS,
        )
    return Event("snapshot", SnapshotEvent(jobs=jobs).model_dump_json())


async def stream(
    runtime: Runtime,
    principal: Principal,
    wanted: frozenset[UUID] | None,
    still_welcome: Callable[[], Awaitable[Principal]],
) -> AsyncGenerator[Event, None]:
    """Events for one listener until the server closes, or the caller's key or session ends or sees other projects."""
    projects = principal.projects("read")
    # Listening starts before the snapshot is read, so nothing falls between the two.
    with runtime.broker.listening(projects, wanted) as listener:
        yield await _snapshot(runtime, listener)
        while True:
            try:
                event = await asyncio.wait_for(listener.queue.get(), PING_S)
            except TimeoutError:
                try:
                    if (await still_welcome()).projects("read") != projects:
                        return
                except UnauthenticatedError:
                    return
                event = Event("ping", "{}")
            if event.name == "end":
                return
            yield await _snapshot(runtime, listener) if event.name == "resync" else event
