"""A listener's stream: a snapshot first, then what happens, and no connection held in between."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import aclosing
from typing import Any
from uuid import UUID

import pytest
from headrace_server.errors import UnauthenticatedError
from headrace_server.events import service
from headrace_server.events.broker import Event
from headrace_server.principal import EVERYTHING, Principal

from tests.backend.alerts.looking import ALERTS, RULES, watched
from tests.backend.builders import activation_body, record
from tests.backend.world import World

SOMEBODY = Principal(label="ada", username="ada", everywhere=EVERYTHING)


async def welcome() -> Principal:
    return SOMEBODY


async def following(events: AsyncIterator[Event], name: str, seconds: float = 10) -> Any:
    async with asyncio.timeout(seconds):
        async for event in events:
            if event.name == name:
                return json.loads(event.data)
    raise AssertionError(f"the stream ended before {name}")


async def test_a_snapshot_then_edits_activations_and_digests(world: World) -> None:
    job, attempt = await world.running_job()
    async with aclosing(service.stream(world.runtime, SOMEBODY, None, welcome)) as events:
        snapshot = await following(events, "snapshot")
        assert [item["name"] for item in snapshot["jobs"]] == ["llama"]
        await world.edit(job, {"web": 1, "code": 1, "legal": 0}, 1)
        edited = await following(events, "mix")
        assert (edited["job"], edited["version"]["version"]) == (job[-36:], 2)
        assert edited["version"]["life"]["state"] == "proposed"
        await world.loader.post(f"{job}/activations", json=activation_body(attempt, "service:2", 12))
        activation = await following(events, "activation")
        assert activation["activation"]["step"] == 12
        await world.report(job, attempt, record(0, 0, 20), record(1, 0, 20))
        applied = await following(events, "mix")
        while applied["version"]["life"]["state"] != "applied":
            applied = await following(events, "mix")
        digest = await following(events, "job")
        while digest["step"] != 20:
            digest = await following(events, "job")
        assert (digest["state"], digest["pending_change"]) == ("running", None)


async def test_digests_are_coalesced(world: World) -> None:
    job, attempt = await world.running_job(1)
    async with aclosing(service.stream(world.runtime, SOMEBODY, None, welcome)) as events:
        await following(events, "snapshot")
        digests: list[int] = []

        async def listen() -> None:
            while True:
                digests.append((await following(events, "job"))["step"])

        listener = asyncio.create_task(listen())
        began = asyncio.get_running_loop().time()
        for seq in range(60):
            await world.report(job, attempt, record(0, seq, seq))
        took = asyncio.get_running_loop().time() - began
        await asyncio.sleep(1.5)
        listener.cancel()
        await asyncio.gather(listener, return_exceptions=True)
    assert digests[-1] == 59
    assert len(digests) <= took + 4


async def test_a_stream_holds_no_connection_between_events(world: World) -> None:
    await world.job()
    pool = world.runtime.database.engine.sync_engine.pool
    streams = [service.stream(world.runtime, SOMEBODY, None, welcome) for _ in range(50)]
    for events in streams:
        await following(events, "snapshot")
    assert world.runtime.broker.num_listeners == 50
    assert pool.checkedout() == 0  # type: ignore[attr-defined]
    for events in streams:
        await events.aclose()
    assert world.runtime.broker.num_listeners == 0


async def test_silence_reaches_the_page_without_a_change(world: World) -> None:
    job, attempt = await world.running_job()
    await world.report(job, attempt, record(0), record(1))
    async with aclosing(service.stream(world.runtime, SOMEBODY, None, welcome)) as events:
        await following(events, "snapshot")
        world.clock.advance(3600)
        digest = await following(events, "job")
        while digest["state"] != "lost":
            digest = await following(events, "job")


async def test_a_listener_hears_only_its_project_and_its_jobs(world: World) -> None:
    job = await world.job()
    other = await world.job("other")
    foreign = Principal(label="key", by_project={999: frozenset({"read"})})
    async with (
        aclosing(service.stream(world.runtime, foreign, None, welcome)) as strange,
        aclosing(service.stream(world.runtime, SOMEBODY, frozenset({UUID(other[-36:])}), welcome)) as narrow,
    ):
        assert await following(strange, "snapshot") == {"jobs": []}
        assert [j["name"] for j in (await following(narrow, "snapshot"))["jobs"]] == ["other"]
        await world.edit(job, {"web": 1, "code": 1, "legal": 1}, 1)
        await world.edit(other, {"web": 1, "code": 1, "legal": 1}, 1)
        assert (await following(narrow, "mix"))["job"] == other[-36:]
        with pytest.raises(TimeoutError):
            await following(strange, "mix", 0.3)


async def test_a_stream_ends_with_the_key_it_was_opened_with(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(service, "PING_S", 0.05)
    valid = True

    async def still_welcome() -> Principal:
        if not valid:
            raise UnauthenticatedError("revoked")
        return SOMEBODY

    names = []
    async with aclosing(service.stream(world.runtime, SOMEBODY, None, still_welcome)) as events:
        async for event in events:
            names.append(event.name)
            if event.name == "ping":
                valid = False
    assert names == ["snapshot", "ping"]


async def test_a_stream_ends_when_the_server_closes(world: World) -> None:
    async with aclosing(service.stream(world.runtime, SOMEBODY, None, welcome)) as events:
        await following(events, "snapshot")
        world.runtime.broker.close()
        assert [event.name async for event in events] == ["end"]


async def test_a_change_that_waits_is_told_as_it_is_made_and_as_it_ends(world: World) -> None:
    job, _ = await world.running_job()
    body = {"weights": {"web": 1, "code": 1, "legal": 0}, "reason": "a plan", "at_step": 900_000}
    async with aclosing(service.stream(world.runtime, SOMEBODY, None, welcome)) as events:
        await following(events, "snapshot")
        made = await world.operator.post(f"{job}/mix/changes", json=body, headers={"If-Match": '"v1"'})
        assert made.status_code == 201, made.text
        told = await following(events, "change")
        assert told == {"job": job[-36:], "change": made.json()["id"], "state": "scheduled"}
        assert (await world.operator.delete(f"{job}/mix/changes/{told['change']}")).status_code == 200
        assert (await following(events, "change"))["state"] == "cancelled"


async def test_an_alert_is_told_as_it_fires_and_as_it_is_acknowledged(world: World) -> None:
    found = await watched(world)
    rule = await found.rule("rank_lost")
    async with aclosing(service.stream(world.runtime, SOMEBODY, None, welcome)) as events:
        await following(events, "snapshot")
        await found.look(600, 0)
        told = await following(events, "alert")
        [alert] = await found.alerts()
        assert told == {"job": found.job[-36:], "alert": alert["id"], "state": "firing"}
        reply = await found.admin.post(f"{ALERTS}/{alert['id']}/acknowledge", json={"comment": "on it"})
        assert reply.status_code == 200, reply.text
        while told["state"] == "firing":
            told = await following(events, "alert")
        assert told["state"] == "acknowledged"
        assert (await found.admin.delete(f"{RULES}/{rule['id']}")).status_code == 204
        assert (await following(events, "alert"))["state"] == "resolved"
