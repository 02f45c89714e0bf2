"""Streams of one listener or follower: where things stand, then what changes, with pings; no connection in between."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from uuid import UUID

from ..errors import ForbiddenError, NotFoundError, UnauthenticatedError
from ..jobs.summary import visible
from ..mix import service as mixes
from ..models import Job
from ..principal import Principal
from ..runtime import Runtime
from ..work import Work
from .broker import Event, Listener
from .schemas import SnapshotEvent, VersionEvent

PING_S = 15.0
# Leaders are told more often that the stream lives, as they ask less often while it does.
FOLLOWER_PING_S = 5.0
_END = Event("end", "{}")
# A snapshot holds at most this many of the newest jobs; a listener that names its jobs gets just those.
_MAX_JOBS = 200


async def _snapshot(runtime: Runtime, listener: Listener) -> Event:
    async with runtime.broker.snapshots, runtime.database.read() as session:
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
    """Events for one listener, ``end`` last when the server closes; or until its key or session ends or changes."""
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
                yield event
                return
            yield await _snapshot(runtime, listener) if event.name == "resync" else event


async def newest_version(runtime: Runtime, job_id: int) -> int:
    """The number of the job's newest mix version."""
    async with runtime.broker.snapshots, runtime.database.read() as session:
        return (await mixes.newest_of(session, [job_id]))[job_id].version


async def follow(work: Work, job: Job, identified: Callable[[], Awaitable[Principal]]) -> AsyncGenerator[Event, None]:
    """For the leader of a job: ``version`` for the newest version and each newer one, ``ping``, ``end`` at the close.

    Only the number is told: the leader then asks for the mix as it does without a stream. The session of ``work`` is
    not used. A caller who may no longer see the job is left within seconds.
    """
    runtime, loop = work.runtime, asyncio.get_running_loop()
    with runtime.broker.followers.following(job.id) as follower:
        follower.tell(await newest_version(runtime, job.id))
        checked_at = loop.time()
        while True:
            try:
                async with asyncio.timeout(FOLLOWER_PING_S):
                    await follower.news.wait()
            except TimeoutError:
                if loop.time() - checked_at >= PING_S:
                    checked_at = loop.time()
                    try:
                        (await identified()).admit(work.scopes, job.project_id, "job", job=job.name)
                    except (UnauthenticatedError, NotFoundError, ForbiddenError):
                        return
                yield Event("ping", "{}")
                continue
            follower.news.clear()
            if follower.ended:
                yield _END
                return
            yield Event("version", VersionEvent(version=follower.version).model_dump_json())
