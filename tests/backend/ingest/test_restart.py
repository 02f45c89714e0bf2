"""The server's own downtime is held against nobody; silence that began before it is."""

from headrace_server.settings import Settings

from tests.backend.builders import record
from tests.backend.world import running_world


async def test_after_a_restart_nobody_is_lost_until_clients_had_time_to_return(settings: Settings) -> None:
    async with running_world(settings) as world:
        job, attempt = await world.running_job()
        await world.report(job, attempt, record(0), record(1))
        assert (await world.get(job))["state"] == "running"
        stopped_at = world.clock.now
    async with running_world(settings) as world:
        # Down for ten minutes; the clock of the new process began at its start.
        world.runtime.downtime = type(world.runtime.downtime)(stopped_at, stopped_at + 630)
        world.clock.now = stopped_at + 610
        assert (await world.get(job))["state"] == "running"
        world.clock.now = stopped_at + 630 + 30
        assert (await world.get(job))["state"] == "lost"
        await world.report(job, attempt, record(0, 1, 9), record(1, 1, 9))
        assert (await world.get(job))["state"] == "running"


async def test_the_server_notes_when_it_was_up(settings: Settings) -> None:
    async with running_world(settings) as world:
        assert world.runtime.downtime.until == 0, "nobody to forgive on a first start"
        await world.running_job()
        last = world.clock.now
    async with running_world(settings) as world:
        downtime = world.runtime.downtime
        assert downtime.since == last
        assert downtime.until >= world.clock.now
