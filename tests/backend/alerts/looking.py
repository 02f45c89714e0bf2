"""Watching the test's jobs: time passes in looks, as it does in a running server."""

import asyncio
from typing import Any

import httpx
from headrace_server.alerts import repository, watch

from tests.backend.builders import Body, record
from tests.backend.world import World

RULES = "/api/v1/projects/default/alerts/rules"
MUTES = "/api/v1/projects/default/alerts/mutes"
ALERTS = "/api/v1/alerts"


class Watched:
    """A job of two ranks with one rule, and an administrator. Reports go on unless a rank is silent."""

    def __init__(self, world: World, admin: httpx.AsyncClient, job: str, attempt: Body) -> None:
        self.world, self.admin, self.job, self.attempt = world, admin, job, attempt
        self.round = 0
        self.step = 0

    async def report(self, *ranks: int, advance: bool = True, **changes: Any) -> None:
        """A report of these ranks, five steps on."""
        self.round += 1
        self.step += 5 if advance else 0
        now = self.world.clock.now
        records = [record(rank, self.round, self.step, time=now, **changes) for rank in ranks]
        await self.world.report(self.job, self.attempt, *records)

    async def look(self, seconds: float, *ranks: int, every_s: float = 10.0, **changes: Any) -> None:
        """Let time pass, a report of these ranks and a look at the end of each tick."""
        passed = 0.0
        while passed < seconds:
            self.world.clock.advance(every_s)
            passed += every_s
            if ranks:
                await self.report(*ranks, **changes)
            await watch.look_once(self.world.runtime)

    async def alerts(self, **query: Any) -> list[Body]:
        """The alerts, newest first."""
        found: list[Body] = (await self.world.get(ALERTS, **query))["items"]
        return found

    async def rule(self, kind: str, **changes: Any) -> Body:
        """Make a rule of this kind."""
        reply = await self.admin.post(RULES, json={"name": f"my {kind}", "kind": kind, **changes})
        assert reply.status_code == 200, reply.text
        made: Body = reply.json()
        return made


async def first_look(world: World) -> None:
    """A first look is over: the project has its rules.

    The server's own may come before the project is made, and then the next is due only after a while; or it is under
    way, and a look beside it does nothing.
    """
    async with asyncio.timeout(60):  # a look that never comes fails its test, and no others wait behind it
        while not (await world.get(RULES))["items"]:
            await watch.look_once(world.runtime)
            async with world.runtime.database.read() as session:
                looked = await repository.clock(session)
            if looked is not None and looked.looked_at == world.clock.now:
                world.clock.advance(watch.TICK_S)
            await asyncio.sleep(0.01)


async def watched(world: World, **job: Any) -> Watched:
    """A running job, looked at once; the rules that every project has are deleted."""
    await first_look(world)
    admin = await world.person()
    for rule in (await world.get(RULES))["items"]:
        assert (await admin.delete(f"{RULES}/{rule['id']}")).status_code == 204
    path = await world.job(**job)
    found = Watched(world, admin, path, await world.attempt(path))
    await found.report(0, 1)
    return found
