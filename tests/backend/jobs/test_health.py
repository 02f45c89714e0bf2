"""The state of a job says what is known, with the rank and the time in words."""

from typing import Any

import pytest
from headrace_server.durations import span
from headrace_server.jobs.health import Vitals, job_state

from tests.backend.builders import record
from tests.backend.world import World


def vitals(**changes: Any) -> Vitals:
    values: dict[str, Any] = {
        "attempt_number": 2,
        "attempt_state": "live",
        "attempt_reason": None,
        "attempt_age_s": 100.0,
        "world_size": 4,
        "lost_after_s": 20.0,
        "num_ranks": 4,
        "num_heard": 4,
        "step": 17,
    }
    return Vitals(**{**values, **changes})


@pytest.mark.parametrize(
    ("given", "state", "words"),
    [
        (None, "waiting", "no attempt"),
        (vitals(num_ranks=0, attempt_age_s=5), "waiting", "no rank has reported yet"),
        (vitals(num_ranks=0), "lost", "no rank has reported since"),
        (vitals(), "running", "all 4 ranks report; last step 17"),
        (vitals(num_heard=3, first_quiet_rank=2), "running", "rank 2 of 4 is late"),
        (vitals(num_heard=1, first_quiet_rank=1), "running", "3 of 4 ranks (rank 1 first) are late"),
        (vitals(num_ranks=3, num_heard=3, attempt_age_s=5), "running", "3 of 4"),
        (vitals(num_ranks=3, num_heard=3), "lost", "1 of 4 ranks have never reported"),
        (vitals(num_lost=1, first_lost_rank=3, lost_for_s=45), "lost", "no word from rank 3 of 4 for 45 s"),
        (vitals(num_lost=3, first_lost_rank=1, lost_for_s=7300), "lost", "3 of 4 ranks (rank 1 first) for 2 h"),
        (vitals(num_stuck=1, first_stuck_rank=0, stuck_for_s=300), "stalled", "rank 0 of 4 reports but has not"),
        (vitals(attempt_state="finished"), "finished", "attempt 2 finished"),
        (vitals(attempt_state="failed", attempt_reason="boom"), "failed", "attempt 2 failed: boom"),
        (vitals(attempt_state="finished", num_lost=4), "finished", ""),
    ],
)
def test_states(given: Vitals | None, state: str, words: str) -> None:
    found, reason = job_state(given)
    assert found == state
    assert words in reason


@pytest.mark.parametrize(
    ("seconds", "words"), [(0, "0 s"), (119, "119 s"), (125, "2 min"), (7300, "2 h"), (200_000, "2 days"), (-5, "0 s")]
)
def test_spans_are_for_people(seconds: float, words: str) -> None:
    assert span(seconds) == words


async def test_a_killed_rank_is_lost_by_name_and_comes_back(world: World) -> None:
    """Case V06: never shown as finished, named, and running again when it reports again."""
    job, attempt = await world.running_job(4)
    await world.report(job, attempt, *(record(rank) for rank in range(4)))
    assert (await world.get(job))["state"] == "running"
    interval = world.runtime.settings.report_every_s
    for seq in range(1, 9):
        world.clock.advance(interval * 1.5)
        await world.report(job, attempt, *(record(rank, seq, 4 + seq) for rank in (0, 1, 3)))
    found = await world.get(job)
    assert found["state"] == "lost"
    assert "rank 2 of 4" in found["state_reason"]
    assert (found["ranks_live"], found["ranks_total"]) == (3, 4)
    await world.report(job, attempt, record(2, 1, 12))
    assert (await world.get(job))["state"] == "running"
    world.clock.advance(7 * 86_400)
    found = await world.get(job)
    assert (found["state"], found["ranks_live"]) == ("lost", 0)
    assert "7 days" in found["state_reason"]
    resumed = await world.attempt(job, 4, resumed_from_step=10)
    await world.report(job, resumed, *(record(rank, 0, 12) for rank in range(4)))
    assert (await world.get(job))["state"] == "running"


async def test_reporting_without_advancing_is_stalled(world: World) -> None:
    job, attempt = await world.running_job()
    await world.report(job, attempt, record(0), record(1))
    for seq in range(1, 8):
        world.clock.advance(world.runtime.settings.stuck_after_s / 6)
        await world.report(job, attempt, record(0, seq, 4 + seq), record(1, seq, 4))
    found = await world.get(job)
    assert found["state"] == "stalled"
    assert "rank 1 of 2 reports but has not advanced" in found["state_reason"]
    states = {rank["rank"]: rank["state"] for rank in (await world.get(f"{job}/ranks"))["items"]}
    assert states == {0: "live", 1: "stuck"}
