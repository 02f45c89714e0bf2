"""Under load ranks are asked to report less often: up at once, down slowly, by as much on every process."""

import asyncio
import itertools

import httpx
import pytest
from headrace_server import caretaker
from headrace_server.ingest.liveness import LIVE_INTERVALS
from headrace_server.ingest.pace import FADE_S, MAX_STRETCH, Load, interval_s, next_stretch, stretch_for_ranks
from headrace_server.settings import Settings
from hypothesis import given
from hypothesis import strategies as st

from tests.backend.builders import record
from tests.backend.world import World, running_world

SANE = st.floats(0, 1e6)
STRETCH = st.floats(1, MAX_STRETCH)


@given(st.floats(0.01, 30), st.floats(0.1, 1e6), st.integers(1, 10**6), STRETCH)
def test_intervals_stay_within_bounds(every_s: float, most_per_s: float, world_size: int, stretch: float) -> None:
    assert 1 <= interval_s(every_s, most_per_s, world_size, stretch) <= 60


@given(STRETCH, SANE, SANE, SANE)
def test_the_factor_stays_within_bounds_and_grows_smoothly(
    held: float, elapsed_s: float, pressure: float, for_ranks: float
) -> None:
    stretch = next_stretch(held, elapsed_s, pressure, for_ranks)
    assert 1 <= stretch <= MAX_STRETCH
    assert stretch <= max(1.5 * held, for_ranks)
    assert stretch >= min(for_ranks, MAX_STRETCH)


@given(STRETCH, st.floats(0.01, 30))
def test_who_was_told_of_a_long_interval_reports_again_before_it_looks_late(stretch: float, every_s: float) -> None:
    """What lets one factor be both what ranks are told and what they are judged by."""
    told_s = interval_s(every_s, 1e9, 1, stretch)
    heard_again_after_s = 1.1 * told_s
    judged_s = interval_s(every_s, 1e9, 1, next_stretch(stretch, heard_again_after_s, 0, 1))
    assert heard_again_after_s < LIVE_INTERVALS * judged_s


def test_all_jobs_share_what_the_server_takes() -> None:
    assert stretch_for_ranks([], 2, 1000, 4000) == 1
    assert stretch_for_ranks([8, 64], 2, 1000, 4000) == 1
    assert stretch_for_ranks([10_000] * 4, 2, 1000, 4000) == 1, "each is held to 1,000 a second"
    assert stretch_for_ranks([10_000] * 8, 2, 1000, 4000) == 2
    assert stretch_for_ranks([1000] * 16, 2, 1000, 4000) == 2


@pytest.mark.parametrize(
    ("load", "pressed"),
    [
        (Load(), False),
        (Load(busy_s=2, num_batches=200), False),
        (Load(busy_s=4.9, num_batches=2), False),
        (Load(busy_s=200, num_batches=2000), True),
        (Load(busy_s=12, num_batches=4), True),
        (Load(num_refused=1), True),
    ],
    ids=["idle", "at ease", "one at a time", "many at once", "slow", "refused"],
)
def test_what_counts_as_pressure(load: Load, pressed: bool) -> None:
    assert (load.pressure(5, 64) > 1) == pressed


async def test_an_overload_is_answered_by_429_and_longer_intervals_until_it_is_over(settings: Settings) -> None:
    """A real one: more clients than the server stores for at once, each as fast as it can."""
    few = settings.model_copy(update={"max_batches_at_once": 4})
    async with running_world(few) as world:
        job, attempt = await world.running_job(16)
        told: list[float] = []
        refused: list[httpx.Response] = []
        overloaded = True

        async def hammer(rank: int) -> None:
            seq = 0
            while overloaded:
                records = [record(rank, seq + i, seq + i) for i in range(20)]
                body = {"attempt": attempt["id"], "records": records}
                reply = await world.loader.post(f"{job}/reports", json=body)
                if reply.status_code == 429:
                    refused.append(reply)
                    await asyncio.sleep(0)
                else:
                    told.append(reply.json()["report_every_s"])
                    seq += 20

        clients = [asyncio.create_task(hammer(rank)) for rank in range(16)]
        held = [2.0]
        for _ in range(10):
            refusals = len(refused)
            async with asyncio.timeout(30):
                while len(refused) == refusals:
                    await asyncio.sleep(0.02)
            world.clock.advance(caretaker.TICK_S)
            await caretaker.tick(world.runtime, key_uses=False)
            held.append(2.0 * world.runtime.stretch)
        overloaded = False
        await asyncio.gather(*clients)
        assert all(int(reply.headers["Retry-After"]) > 0 for reply in refused)
        # The server's own look at the load may come in between, and add its step.
        assert all(0.9 < later / earlier < 1.5**2 + 1e-9 for earlier, later in itertools.pairwise(held))
        assert 10 < max(told) <= 60
        assert (await world.get(job))["state"] == "running"

        rested = await _rest(world, 240)
        assert all(later < earlier for earlier, later in itertools.pairwise(rested))
        # The seconds of real time in between are no load.
        assert rested[-1] < 2.0 + (held[-1] - 2.0) * 0.2


async def _rest(world: World, seconds: int) -> list[float]:
    intervals = []
    world.runtime.load = Load()
    for _ in range(seconds // 5):
        world.clock.advance(5)
        await caretaker.tick(world.runtime, key_uses=False)
        intervals.append(2.0 * world.runtime.stretch)
    return intervals


async def test_every_process_on_the_database_stretches_alike_and_a_restart_remembers(settings: Settings) -> None:
    async with running_world(settings) as here:
        here.runtime.load = Load(num_refused=1)
        await caretaker.tick(here.runtime, key_uses=False)
        assert here.runtime.stretch == 1.5
        async with running_world(settings) as there:
            assert 1.4 < there.runtime.stretch <= 1.5
            job, attempt = await there.running_job(1)
            assert 2.8 < (await there.report(job, attempt, record(0)))["report_every_s"] <= 3.0
        here.clock.advance(FADE_S)
        await caretaker.tick(here.runtime, key_uses=False)
        assert 1.0 < here.runtime.stretch < 1.3


async def test_the_number_of_ranks_of_all_jobs_stretches_all(settings: Settings) -> None:
    few = settings.model_copy(update={"max_total_reports_per_s": 10.0})
    async with running_world(few) as world:
        job, attempt = await world.running_job(60)
        assert (await world.report(job, attempt, record(0)))["report_every_s"] == 2.0
        await caretaker.tick(world.runtime, key_uses=False)
        assert (await world.report(job, attempt, record(1)))["report_every_s"] == pytest.approx(6.0, rel=0.01)
