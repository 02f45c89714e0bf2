"""A leader's stream: the newest version's number first, then each newer one; slow readers get the newest, not all."""

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import aclosing
from dataclasses import replace
from typing import Any

import pytest
from headrace_server.errors import UnauthenticatedError
from headrace_server.events import service
from headrace_server.events.broker import Event
from headrace_server.jobs import access
from headrace_server.principal import Principal
from headrace_server.work import Work

from tests.backend.builders import activation_body, record
from tests.backend.world import World

ODD, EVEN = {"web": 1, "code": 0, "legal": 0}, {"web": 1, "code": 1, "legal": 0}


SOMEBODY = Principal(label="key:loader", everywhere=frozenset({"ingest"}))


async def follow(world: World, identified: Callable[[], Awaitable[Principal]] | None = None) -> AsyncGenerator[Event]:
    """A stream of the only job in progress, for a server's key."""
    async with world.runtime.database.read() as session:
        [job] = await access.by_ids(session, await access.ids_in_progress(session))

        async def same() -> Principal:
            return SOMEBODY

        work = Work(
            session=session,
            principal=SOMEBODY,
            scopes=("ingest",),
            job=job,
            now=world.clock(),
            request_id="test",
            runtime=world.runtime,
        )
    return service.follow(work, job, identified or same)


async def version(events: AsyncIterator[Event], seconds: float = 10) -> Any:
    async with asyncio.timeout(seconds):
        event = await anext(events)
    assert event.name == "version"
    return json.loads(event.data)["version"]


async def test_the_newest_version_first_then_each_edit(world: World) -> None:
    job, attempt = await world.running_job()
    await world.edit(job, EVEN, 1)
    async with aclosing(await follow(world)) as events:
        assert await version(events) == 2
        await world.edit(job, ODD, 2)
        assert await version(events) == 3
        await world.loader.post(f"{job}/activations", json=activation_body(attempt, "service:3", 12))
        await world.report(job, attempt, record(0, 0, 20), record(1, 0, 20))
        with pytest.raises(TimeoutError):  # how far a version has come is no news to the leader
            await version(events, 0.3)


async def test_one_who_reads_late_is_told_of_the_newest_only(world: World) -> None:
    job, _ = await world.running_job()
    async with aclosing(await follow(world)) as events:
        assert await version(events) == 1
        for number in range(1, 8):
            await world.edit(job, EVEN if number % 2 else ODD, number)
        assert await version(events) == 8


async def test_a_follower_holds_no_connection(world: World) -> None:
    await world.running_job()
    pool = world.runtime.database.engine.sync_engine.pool
    streams = [await follow(world) for _ in range(50)]
    assert {await version(events) for events in streams} == {1}
    assert pool.checkedout() == 0  # type: ignore[attr-defined]
    for events in streams:
        await events.aclose()
    assert world.runtime.broker.followers.job_ids == []


async def test_pings_while_nothing_happens_and_ends_with_the_key(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(service, "FOLLOWER_PING_S", 0.02)
    monkeypatch.setattr(service, "PING_S", 0.05)
    await world.running_job()

    async def revoked() -> Principal:
        raise UnauthenticatedError("revoked")

    async with aclosing(await follow(world, revoked)) as events:
        names = [event.name async for event in events]
    assert names[0] == "version"
    assert set(names[1:]) == {"ping"}


async def test_ends_when_the_caller_may_no_longer_see_the_job(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(service, "FOLLOWER_PING_S", 0.02)
    monkeypatch.setattr(service, "PING_S", 0.05)
    await world.running_job()

    async def demoted() -> Principal:
        return replace(SOMEBODY, everywhere=frozenset())

    async with aclosing(await follow(world, demoted)) as events:
        assert (await anext(events)).name == "version"
        assert {event.name async for event in events} == {"ping"}


async def test_the_stream_says_when_the_server_closes(world: World) -> None:
    await world.running_job()
    async with aclosing(await follow(world)) as events:
        assert await version(events) == 1
        world.runtime.broker.close()
        assert [event.name async for event in events] == ["end"]
