"""What administrators read of the service: figures of all processes, no secret, and for nobody else."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from typing import Any

import pytest
from headrace_server import __version__
from headrace_server.migration import head
from headrace_server.rollups import service as rollups
from headrace_server.settings import Settings

from tests.backend.builders import record
from tests.backend.world import World, running_world

SYSTEM = "/api/v1/system"


async def system(world: World, name: str = "root") -> dict[str, Any]:
    """What an administrator of the server reads."""
    reply = await (await world.person(name)).get(SYSTEM)
    assert reply.status_code == 200, reply.text
    found: dict[str, Any] = reply.json()
    return found


async def test_it_is_for_administrators_of_the_server(world: World) -> None:
    admin_of_a_project = await world.person("ada", default="admin")
    for client in (world.viewer, world.operator, world.loader, admin_of_a_project):
        assert (await client.get(SYSTEM)).status_code == 403


async def test_an_idle_service(world: World) -> None:
    found = await system(world)
    assert found["version"] == __version__
    assert found["database"]["kind"] == ("sqlite" if world.runtime.settings.is_sqlite else "postgresql")
    assert found["database"]["size_bytes"] > 10_000
    assert found["database"]["revision"] == found["database"]["needed_revision"] == head()
    assert found["ingest"] == {
        "num_ranks": 0,
        "reports_per_s": 0.0,
        "lag_mean_s": None,
        "lag_max_s": None,
        "stretch": 1.0,
        "per_minute": [],
    }
    assert (found["rollup_delay_s"], found["sealing_key"], found["provider"]) == (0.0, False, None)
    [process] = found["processes"]
    assert process["answered"] and process["version"] == __version__ and process["num_streams"] == 0


async def test_the_rate_and_the_lag_of_what_ranks_report(world: World) -> None:
    job, attempt = await world.running_job(3)
    now = world.clock.now
    await world.report(job, attempt, record(0, time=now - 1, interval_s=2.0), record(1, time=now - 3, interval_s=4.0))
    # A clock that is ahead is no negative lag, and a report of nearly no time no endless rate.
    await world.report(job, attempt, record(2, time=now + 5, interval_s=0.0001))
    ingest = (await system(world))["ingest"]
    assert ingest["num_ranks"] == 3
    assert ingest["reports_per_s"] == pytest.approx(1 / 2 + 1 / 4 + 1)
    assert ingest["lag_max_s"] == pytest.approx(3, abs=0.1)
    assert ingest["lag_mean_s"] == pytest.approx(4 / 3, abs=0.1)
    world.clock.advance(60)
    assert (await system(world, "other"))["ingest"]["num_ranks"] == 0, "silent ranks don't report"


async def test_reports_by_minute_with_the_minutes_that_had_none(world: World) -> None:
    job, attempt = await world.running_job()
    minute = world.clock.now // 60 * 60 - 300
    for seq, at in enumerate((0, 10, 130)):
        await world.report(job, attempt, record(0, seq, step=5 * seq + 4, time=minute + at))
    assert (await system(world))["rollup_delay_s"] > 0
    await rollups.roll_up(world.runtime)
    found = await system(world, "other")
    assert [each["num_reports"] for each in found["ingest"]["per_minute"]] == [2, 0, 1]
    assert found["rollup_delay_s"] == 0


async def test_partitions_are_told_and_missed(world: World) -> None:
    await rollups.housekeeping(world.runtime)
    found = await system(world)
    if world.runtime.settings.is_sqlite:
        assert found["partitions"] == []
        return
    assert {table["table"] for table in found["partitions"]} == {"rank_report", "rank_rollup_1m"}
    for table in found["partitions"]:
        assert table["num_days"] >= 3 and table["missing"] == []
    world.clock.advance(10 * 86_400)
    later = await system(world, "other")
    assert all(len(table["missing"]) == 3 for table in later["partitions"])
    assert "no partition" in later["notices"][0]["text"]


@pytest.fixture
async def sealed(settings: Settings) -> AsyncIterator[World]:
    """A service with every secret there is."""
    chosen = {
        "data_dir": settings.data_dir,
        "database_url": settings.database_url,
        "sealing_key": "a sealing key that nobody may see, ever",
        "oidc_issuer": "https://sso.example/realms/lab",
        "oidc_client_id": "headrace",
        "oidc_client_secret": "a client secret that nobody may see",
    }
    async with running_world(Settings.model_validate(chosen)) as running:
        yield running


async def test_what_is_set_up_is_said_and_no_secret(sealed: World) -> None:
    root = await sealed.person("root")
    reply = await root.get(SYSTEM)
    assert reply.json()["sealing_key"] is True and reply.json()["provider"] == "sso.example"
    assert "nobody may see" not in reply.text
    url = sealed.runtime.settings.database_url
    assert url is None or url not in reply.text


@pytest.mark.parametrize("settings", ["postgresql"], indirect=True)
async def test_every_process_on_the_database_is_listed_with_its_own_figures(settings: Settings) -> None:
    async with AsyncExitStack() as stack:
        here, there = [await stack.enter_async_context(running_world(settings)) for _ in range(2)]
        # The two are one process here; what tells them apart is since when they run.
        there.runtime.started_at = here.runtime.started_at + 100
        root = await here.person("root")
        with there.runtime.broker.streaming():
            async with asyncio.timeout(60):
                while True:
                    processes = (await root.get(SYSTEM)).json()["processes"]
                    if [(process["answered"], process["num_streams"]) for process in processes] == [
                        (True, 0),
                        (False, 1),
                    ]:
                        return
                    await asyncio.sleep(0.1)
