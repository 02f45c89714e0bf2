"""A clock that is set, a machine that sleeps and a process that is stopped are held against no rank."""

import pytest
from headrace_server import caretaker
from headrace_server.ingest.uptime import Look, leap_s

from tests.backend.builders import record
from tests.backend.world import World


@pytest.mark.parametrize(
    ("wall", "steady", "late", "leap"),
    [
        (5, 5, 0, 0),
        (14, 5, 0, 0),
        (-4, 5, 0, 0),
        (14, 14, 9, 0),
        (3605, 5, 0, 3600),
        (-3595, 5, 0, -3600),
        (65, 65, 60, 60),
        (65, 5, 0, 60),
    ],
    ids=["on time", "corrected a little", "set back a little", "late", "set", "set back", "stopped", "slept"],
)
def test_what_counts_as_a_leap(wall: float, steady: float, late: float, leap: float) -> None:
    assert leap_s(Look(1000.0, 50.0), Look(1000.0 + wall, 50.0 + steady), late) == leap


async def _running(world: World) -> tuple[str, dict[str, object]]:
    job, attempt = await world.running_job()
    await world.report(job, attempt, record(0), record(1))
    assert (await world.get(job))["state"] == "running"
    return job, attempt


async def test_a_clock_set_forward_loses_nobody_and_silence_counts_again_soon(world: World) -> None:
    job, attempt = await _running(world)
    before = caretaker.look(world.runtime)
    world.clock.set_by(7200)
    world.clock.advance(5)
    await caretaker.watch_clock(world.runtime, before, 0)
    assert (await world.get(job))["state"] == "running"
    world.clock.advance(world.runtime.settings.restart_grace_s + 30)
    assert (await world.get(job))["state"] == "lost"
    await world.report(job, attempt, record(0, 1, 9), record(1, 1, 9))
    assert (await world.get(job))["state"] == "running"


async def test_a_clock_set_back_keeps_nobody_alive_who_is_silent(world: World) -> None:
    job, attempt = await _running(world)
    before = caretaker.look(world.runtime)
    world.clock.set_by(-7200)
    world.clock.advance(5)
    await caretaker.watch_clock(world.runtime, before, 0)
    assert (await world.get(job))["state"] == "running"
    world.clock.advance(world.runtime.settings.restart_grace_s + 30)
    lost = await world.get(job)
    assert (lost["state"], lost["ranks_live"]) == ("lost", 0)
    await world.report(job, attempt, record(0, 1, 9), record(1, 1, 9))
    assert (await world.get(job))["state"] == "running"


async def test_a_server_that_was_stopped_for_a_while_loses_nobody(world: World) -> None:
    job, _ = await _running(world)
    before = caretaker.look(world.runtime)
    world.clock.advance(600)
    assert (await world.get(job))["state"] == "lost", "as it looks before the clock is looked at"
    await caretaker.watch_clock(world.runtime, before, 595)
    assert (await world.get(job))["state"] == "running"


async def test_a_clock_that_goes_on_is_left_alone(world: World) -> None:
    before, downtime = caretaker.look(world.runtime), world.runtime.downtime
    world.clock.advance(5.2)
    assert await caretaker.watch_clock(world.runtime, before, 0) == caretaker.look(world.runtime)
    assert world.runtime.downtime == downtime
