"""Guessing passwords is slowed down by user and address, and by address alone, over all replicas."""

import asyncio

import httpx
import pytest
import sqlalchemy as sa
from headrace_server import models
from headrace_server.auth import limits, sessions
from headrace_server.errors import TooManyRequestsError
from headrace_server.settings import Settings

from tests.backend.world import PASSWORD, World

RULES = Settings(login_failures=3, login_window_s=60)


async def fail(world: World, username: str, address: str, now: float) -> bool:
    return await limits.count_try(world.runtime.database, RULES, username, address, now)


async def test_a_user_is_paused_from_one_address_only(world: World) -> None:
    assert [await fail(world, "ada", "a", 100) for _ in range(3)] == [False, False, True]
    with pytest.raises(TooManyRequestsError) as refused:
        await fail(world, "ada", "a", 110)
    assert refused.value.headers["Retry-After"] == "50"
    await fail(world, "ada", "b", 110)
    await fail(world, "bob", "a", 110)
    await fail(world, "ada", "a", 160)


async def test_an_address_that_tries_many_users_is_paused_too(world: World) -> None:
    for i in range(18):
        await fail(world, f"user{i}", "a", 100)
    with pytest.raises(TooManyRequestsError):
        await fail(world, "somebody", "a", 101)
    await fail(world, "somebody", "b", 101)


async def test_success_forgets_the_failures(world: World) -> None:
    for _ in range(2):
        await fail(world, "ada", "a", 100)
    await limits.was_right(world.runtime.database, "ada", "a")
    assert [await fail(world, "ada", "a", 101) for _ in range(3)] == [False, False, True]


async def test_guesses_all_at_once_are_counted_before_they_are_looked_at(world: World) -> None:
    await world.add_user()
    clients = [world.client() for _ in range(12)]
    wrong = {"username": "ada", "password": "wrong"}
    replies = await asyncio.gather(*(client.post("/api/v1/session", json=wrong) for client in clients))
    statuses = sorted(reply.status_code for reply in replies)
    assert statuses == [401] * world.runtime.settings.login_failures + [429] * 7


async def test_a_series_of_failures_is_one_event_and_holds_no_name_that_nobody_has(world: World) -> None:
    await world.add_user()
    person = await world.person("root")
    for username in ("ada", "hunter2"):
        for _ in range(7):
            await world.client().post("/api/v1/session", json={"username": username, "password": "wrong"})
    text = (await person.get("/api/v1/audit")).text
    assert text.count("session.refused") == 2
    assert "hunter2" not in text


async def test_what_is_over_is_forgotten(world: World) -> None:
    await fail(world, "ada", "a", 100)
    async with world.runtime.database.write() as session:
        await sessions.tidy(session, RULES, 161)
    async with world.runtime.database.read() as session:
        assert await session.scalar(sa.select(sa.func.count()).select_from(models.LoginFailures)) == 0


async def test_it_is_counted_in_the_database_that_replicas_share(world: World) -> None:
    from headrace_server.app import build_app

    await world.add_user()
    replica = build_app(world.runtime.settings, world.clock)
    transport = httpx.ASGITransport(replica)
    async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as elsewhere:
        for client in (world.stranger, elsewhere) * 3:
            await client.post("/api/v1/session", json={"username": "ada", "password": "wrong"})
        right = {"username": "ada", "password": PASSWORD}
        assert (await elsewhere.post("/api/v1/session", json=right)).status_code == 429
        assert (await world.stranger.post("/api/v1/session", json=right)).status_code == 429
    await replica.state.runtime.database.close()
