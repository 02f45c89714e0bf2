"""Two replicas on one PostgreSQL: what one commits the other's streams hear, over lost connections too."""

import asyncio
import json
import time
import uuid
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, aclosing
from statistics import median
from typing import Any

import psycopg
import pytest
import sqlalchemy as sa
from headrace_server.events import fanout as fanouts
from headrace_server.events import service, wire
from headrace_server.events.announcements import AlertMoved, JobChanged, MixProgressed
from headrace_server.events.fanout import Fanout
from headrace_server.settings import Settings

from tests.backend.builders import activation_body, record
from tests.backend.events.test_follow import follow, version
from tests.backend.events.test_stream import SOMEBODY, following, welcome
from tests.backend.world import World, running_world

EVEN, ODD = {"web": 1, "code": 1, "legal": 0}, {"web": 1, "code": 0, "legal": 0}
Pair = tuple[World, World]
pytestmark = pytest.mark.parametrize("settings", ["postgresql"], indirect=True)


@pytest.fixture
async def pair(settings: Settings) -> AsyncIterator[Pair]:
    """Two replicas that hear each other."""
    async with AsyncExitStack() as stack:
        worlds = [await stack.enter_async_context(running_world(settings)) for _ in range(2)]
        await _until_listening(settings, 2)
        yield worlds[0], worlds[1]


def _ask(settings: Settings, statement: str) -> list[tuple[Any, ...]]:
    with psycopg.connect(settings.database_url or "", autocommit=True) as connection:
        found = connection.execute(statement)
        return found.fetchall() if found.description else []


_LISTENING = "FROM pg_stat_activity WHERE application_name = 'headrace-events' AND datname = current_database()"


async def _until_listening(settings: Settings, num: int) -> None:
    async with asyncio.timeout(10):
        while len(_ask(settings, f"SELECT 1 {_LISTENING}")) < num:
            await asyncio.sleep(0.05)


async def test_an_edit_reaches_the_other_replicas_streams_within_a_second(pair: Pair) -> None:
    here, there = pair
    job, _ = await here.running_job()
    async with (
        aclosing(await follow(there)) as leader,
        aclosing(service.stream(there.runtime, SOMEBODY, None, welcome)) as browser,
    ):
        assert await version(leader) == 1
        await following(browser, "snapshot")
        took_s = []
        for number in range(1, 6):
            began = time.monotonic()
            assert (await here.edit(job, EVEN if number % 2 else ODD, number)).status_code == 200
            assert await version(leader) == number + 1
            edited = await following(browser, "mix")
            while edited["version"]["version"] != number + 1:
                edited = await following(browser, "mix")
            took_s.append(time.monotonic() - began)
    assert median(took_s) < 1.0


async def test_an_edit_that_is_not_committed_is_told_to_nobody(pair: Pair) -> None:
    here, there = pair
    job, _ = await here.running_job()
    async with aclosing(await follow(there)) as leader:
        assert await version(leader) == 1
        assert (await here.edit(job, EVEN, 7)).status_code == 412
        with pytest.raises(TimeoutError):
            await version(leader, 0.5)


async def test_how_far_a_version_came_and_what_was_sealed_follow_within_seconds(pair: Pair) -> None:
    here, there = pair
    job, attempt = await here.running_job()
    await here.edit(job, EVEN, 1)
    async with aclosing(service.stream(there.runtime, SOMEBODY, None, welcome)) as browser:
        await following(browser, "snapshot")
        await here.loader.post(f"{job}/activations", json=activation_body(attempt, "service:2", 12))
        names: set[str] = set()
        async with asyncio.timeout(10):
            while not {"mix", "activation"} <= names:
                names.add((await anext(browser)).name)
        await here.report(job, attempt, record(0, 0, 20), record(1, 0, 20))
        applied = advanced = False
        async with asyncio.timeout(10):
            while not (applied and advanced):  # in whichever order they come
                event = await anext(browser)
                data = json.loads(event.data)
                applied |= event.name == "mix" and data["version"]["life"]["state"] == "applied"
                advanced |= event.name == "job" and data["step"] == 20


async def test_a_change_that_waits_is_heard_of_by_the_other_replicas_streams(pair: Pair) -> None:
    here, there = pair
    job, _ = await here.running_job()
    async with aclosing(service.stream(there.runtime, SOMEBODY, None, welcome)) as browser:
        await following(browser, "snapshot")
        body = {"weights": EVEN, "reason": "a plan", "at_step": 900_000}
        made = await here.operator.post(f"{job}/mix/changes", json=body, headers={"If-Match": '"v1"'})
        told = await following(browser, "change")
        assert told == {"job": job[-36:], "change": made.json()["id"], "state": "scheduled"}


async def test_alerts_travel_in_the_digest(pair: Pair) -> None:
    here, there = pair
    sender, hearer = Fanout(here.runtime), Fanout(there.runtime)
    moved = AlertMoved(7, uuid.uuid4(), "firing")
    sender.committed([moved])
    digest = sender._digest()
    assert digest is not None
    with there.runtime.broker.listening(None, None):
        hearer.heard(digest)
        assert moved in there.runtime.broker.take_changes()


async def test_storing_reports_tells_nothing_itself(pair: Pair) -> None:
    here, _ = pair
    job, attempt = await here.running_job()
    await here.edit(job, EVEN, 1)
    statements: list[str] = []
    sa.event.listen(
        here.runtime.database.engine.sync_engine,
        "before_cursor_execute",
        lambda _c, _cursor, statement, *_: statements.append(statement.lower()),
    )
    await here.report(job, attempt, record(0, 0, 20, mix_seen=2, mix_version=2), record(1, 0, 20, mix_version=2))
    assert len(statements) > 3
    assert not [statement for statement in statements if "notify" in statement]
    await here.edit(job, ODD, 2)
    assert len([statement for statement in statements if "notify" in statement]) == 1


async def test_a_lost_connection_costs_no_edit(pair: Pair, settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fanouts, "POLL_S", 0.1)
    here, there = pair
    job, _ = await here.running_job()
    name = (settings.database_url or "").partition("?")[0].rpartition("/")[2]
    async with (
        aclosing(await follow(there)) as leader,
        aclosing(service.stream(there.runtime, SOMEBODY, None, welcome)) as browser,
    ):
        assert await version(leader) == 1
        await following(browser, "snapshot")
        # No new connection to the database, so that the lines stay down while the pools live on.
        elsewhere = settings.model_copy(
            update={"database_url": (settings.database_url or "").replace(name, "postgres")}
        )
        with psycopg.connect(elsewhere.database_url or "", autocommit=True) as connection:
            connection.execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS false")
            killed = connection.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                " WHERE application_name = 'headrace-events' AND datname = %s",
                (name,),
            ).fetchall()
            assert len(killed) == 2
            assert (await here.edit(job, EVEN, 1)).status_code == 200
            assert await version(leader, 5) == 2, "polled"
            connection.execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS true")
        snapshot = await following(browser, "snapshot", 20)
        assert snapshot["jobs"][0]["mix_version"] == 2
        await _until_listening(settings, 2)
        assert (await here.edit(job, ODD, 2)).status_code == 200
        assert await version(leader) == 3


async def test_what_other_versions_tell_is_borne(pair: Pair, settings: Settings) -> None:
    here, there = pair
    job, _ = await here.running_job()
    for payload in ("", "[]", "{", '{"from":"x","edits":[[1]]}', '{"from":"x","jobs":["y"]}', '{"from":"x","new":1}'):
        _ask(settings, f"SELECT pg_notify('{wire.CHANNEL}', '{payload}')")
    async with aclosing(await follow(there)) as leader:
        assert await version(leader) == 1
        await here.edit(job, EVEN, 1)
        assert await version(leader) == 2


async def test_a_digest_too_large_to_send_has_everybody_start_over(pair: Pair) -> None:
    here, there = pair
    sender, hearer = Fanout(here.runtime), Fanout(there.runtime)
    assert sender._digest() is None
    sender.committed([JobChanged(7), MixProgressed(7, 2), JobChanged(7)])
    small = sender._digest()
    assert small is not None and json.loads(small) == {"from": sender._name, "jobs": [7], "progress": [[7, 2]]}
    for many in (3000, 20_000):
        sender.committed([JobChanged(1_000_000 + n) for n in range(many)])
        large = sender._digest()
        assert large is not None and len(large) < wire.MAX_PAYLOAD_BYTES
        with there.runtime.broker.listening(None, None) as listener:
            sender.heard(large)
            assert listener.queue.empty(), "its own"
            hearer.heard(large)
            assert listener.queue.get_nowait().name == "resync"
    assert sender._digest() is None
