"""Many writers and a reader at once: nothing fails, nothing is lost, nothing is counted twice (cases V01, V05)."""

import asyncio

import httpx
import sqlalchemy as sa
from headrace_server import models
from headrace_server.settings import Settings

from tests.backend.builders import record
from tests.backend.world import World, running_world

CLIENTS = 16
POSTS = 6
RECORDS = 20


async def test_sixteen_writers_and_a_reader(world: World) -> None:
    job, attempt = await world.running_job(CLIENTS)
    statuses: list[int] = []
    writing = True

    async def write(rank: int) -> None:
        for post in range(POSTS):
            records = [record(rank, post * RECORDS + i, post * RECORDS + i) for i in range(RECORDS)]
            # Every batch is sent twice, as after a reply that got lost.
            for _ in range(2):
                reply = await world.loader.post(f"{job}/reports", json={"attempt": attempt["id"], "records": records})
                statuses.append(reply.status_code)

    async def read() -> None:
        while writing:
            replies = [await world.operator.get(f"{job}{path}") for path in ("", "/ranks", "/figures/mix")]
            statuses.extend(reply.status_code for reply in replies)
            await asyncio.sleep(0.2)

    reader = asyncio.create_task(read())
    await asyncio.gather(*(write(rank) for rank in range(CLIENTS)))
    writing = False
    await reader
    assert set(statuses) == {200, 202}
    async with world.runtime.database.read() as session:
        stored = await session.scalar(sa.select(sa.func.count()).select_from(models.RankReport))
        losses = await session.scalar(sa.select(sa.func.sum(models.SourceProgress.loss_count)))
    assert stored == CLIENTS * POSTS * RECORDS
    assert losses == stored * 3 * 10, "each record's losses counted once"
    states = (await world.get(f"{job}/ranks"))["items"]
    assert {state["step"] for state in states} == {POSTS * RECORDS - 1}


async def test_ranks_that_share_steps_do_not_deadlock(world: World) -> None:
    """Ranks at the same steps add to the same rows of the history; they must lock them in one order."""
    job, attempt = await world.running_job(8)

    async def write(rank: int, steps: list[int]) -> int:
        records = [record(rank, i, step) for i, step in enumerate(steps)]
        reply = await world.loader.post(f"{job}/reports", json={"attempt": attempt["id"], "records": records})
        return reply.status_code

    up, down = list(range(60)), list(reversed(range(60)))
    statuses = await asyncio.gather(*(write(rank, up if rank % 2 else down) for rank in range(8)))
    assert set(statuses) == {202}
    async with world.runtime.database.read() as session:
        counts = await session.scalars(sa.select(models.SourceProgress.loss_count))
        assert set(counts) == {80}


async def test_a_server_with_its_hands_full_says_when_to_come_back(settings: Settings) -> None:
    async with running_world(settings.model_copy(update={"max_batches_at_once": 2})) as world:
        job, attempt = await world.running_job(8)

        async def write(rank: int) -> httpx.Response:
            return await world.loader.post(
                f"{job}/reports", json={"attempt": attempt["id"], "records": [record(rank, 0)]}
            )

        async with world.runtime.database.write() as session:
            if not settings.is_sqlite:  # there, this transaction alone keeps the others waiting
                await session.execute(sa.text("LOCK TABLE rank_report IN ACCESS EXCLUSIVE MODE"))
            waiting = [asyncio.create_task(write(rank)) for rank in range(2)]
            async with asyncio.timeout(60):
                while world.runtime.num_batches < 2:
                    await asyncio.sleep(0.01)
            refused = await write(2)
            assert (refused.status_code, refused.json()["code"]) == (429, "too_many_requests")
            assert int(refused.headers["Retry-After"]) > 0
            assert (await world.viewer.get(job)).status_code == 200, "readers are not in the way"
        assert [(await task).status_code for task in waiting] == [202, 202]
        assert world.runtime.num_batches == 0
        assert (await write(2)).status_code == 202
