"""Why a version has not moved: in words, with what is known. First without a database, then as the API says it."""

from dataclasses import replace
from typing import Any

import pytest
from headrace_server import caretaker
from headrace_server.mix.waiting import Behind, Scene, Start, Version, Wait, wait_of
from headrace_server.settings import Settings

from tests.backend.builders import activation_body, record
from tests.backend.world import World, running_world

HALVES = {"web": 1, "code": 1, "legal": 0}
NOW = 10_000.0
PROPOSED = Version(
    proposed_at=NOW - 60, seen_at=None, agreed_at=None, agreed_step=None, agreed_here=False, from_step=None
)
SEEN = replace(PROPOSED, seen_at=NOW - 50)
AGREED = replace(SEEN, agreed_at=NOW - 40, agreed_step=120, agreed_here=True)
START = Start(
    number=2,
    state="live",
    started_at=NOW - 3600,
    ended_at=None,
    loader_version="0.1.0",
    leader_at=NOW - 1,
    polled_at=NOW - 1,
    step=100,
    steps_per_s=0.5,
    num_stuck=0,
    stuck_for_s=0.0,
)
SCENE = Scene(now=NOW, start=START, server_version="0.1.0")


def wait(version: Version, scene: Scene = SCENE, **start: Any) -> Wait:
    assert scene.start is not None
    return wait_of(version, replace(scene, start=replace(scene.start, **start)))


def test_what_goes_as_it_should_is_not_stuck() -> None:
    for version, code in ((PROPOSED, "next_poll"), (SEEN, "next_seal")):
        found = wait(version)
        assert (found.code, found.stuck) == (code, False)
    ahead = wait(replace(SEEN, from_step=1101))
    assert (ahead.code, ahead.stuck) == ("step_ahead", False)
    assert ahead.message == "Waits for step 1101; the job is at 100, about 33 min at 0.5 steps/s."
    agreed = wait(AGREED)
    assert (agreed.code, agreed.message) == (
        "step_ahead",
        "Waits for step 120; the job is at 100, about 38 s at 0.5 steps/s.",
    )
    assert wait(AGREED, steps_per_s=None).message == "Waits for step 120; the job is at 100."


def test_without_a_live_attempt_it_says_so() -> None:
    never = wait_of(PROPOSED, replace(SCENE, start=None))
    assert (never.code, never.stuck) == ("no_attempt", True)
    for state in ("finished", "failed"):
        ended = wait(SEEN, state=state, ended_at=NOW - 7200)
        assert (ended.code, ended.stuck) == ("attempt_ended", True)
        assert ended.message == f"Attempt 2 {state} 2 h ago; the next start picks this up."


def test_a_leader_that_does_not_ask_is_named_with_how_long() -> None:
    gone = wait(PROPOSED, polled_at=NOW - 300, leader_at=NOW - 290)
    assert (gone.code, gone.since, gone.stuck) == ("leader_silent", NOW - 300, True)
    assert gone.message == (
        "The leader (rank 0 of attempt 2) has not asked for the mix for 5 min, and reports nothing."
    )
    deaf = wait(PROPOSED, polled_at=None)
    assert deaf.message == "The leader reports but has never asked for the mix."
    old = wait(PROPOSED, polled_at=None, loader_version="0.0.9")
    assert old.code == "older_loader"
    assert "its loader is 0.0.9, older than this service (0.1.0)" in old.message
    newer = wait(PROPOSED, polled_at=None, loader_version="0.10.0")
    assert newer.code == "leader_silent"
    follows = wait(SEEN, polled_at=NOW - 300)
    assert follows.code == "next_seal", "who has it need not ask again"


def test_the_services_own_absence_is_held_against_nobody() -> None:
    found = wait(PROPOSED, replace(SCENE, away=(NOW - 620, NOW - 20)), polled_at=NOW - 630)
    assert (found.code, found.since) == ("service_away", NOW - 620)
    assert "away for 10 min" in found.message


def test_a_superseded_attempt_takes_what_it_knew_with_it() -> None:
    seen = wait(SEEN, started_at=NOW - 10)
    assert seen.code == "attempt_superseded"
    assert "An earlier attempt fetched it; attempt 2 has superseded" in seen.message
    agreed = wait(replace(AGREED, agreed_here=False), started_at=NOW - 10)
    assert agreed.code == "attempt_superseded"
    assert "agreed on it at step 120" in agreed.message


def test_ranks_that_are_behind_are_named_and_so_is_who_is_lost() -> None:
    slow = replace(SCENE, behind=(Behind(rank=3, silent_s=None), Behind(rank=7, silent_s=None)), num_behind=2)
    found = wait(AGREED, slow, step=125)
    assert (found.code, found.stuck) == ("ranks_behind", False)
    assert found.message == "Waits for ranks 3, 7 not at step 120 yet."
    lost = replace(SCENE, behind=(Behind(rank=7, silent_s=300.0), Behind(rank=3, silent_s=None)), num_behind=9)
    found = wait(AGREED, lost, step=125)
    assert found.stuck
    assert found.message == "Waits for ranks 7, 3 and 7 more not at step 120 yet; rank 7 lost, silent for 5 min."
    mute = wait(AGREED, replace(SCENE, num_unheard=4), step=125)
    assert (mute.message, mute.stuck) == ("Waits for 4 that have never reported.", True)
    halted = wait(SEEN, num_stuck=2, stuck_for_s=400.0)
    assert (halted.code, halted.stuck) == ("not_advancing", True)
    assert "for 7 min" in halted.message


async def life(world: World, job: str) -> Any:
    found = (await world.get(f"{job}/mix"))["life"]
    waits = found["waiting"]
    return found if waits is None else {**found, "code": waits["code"], "message": waits["message"]}


async def test_the_api_says_what_each_stage_waits_for(world: World) -> None:
    job = await world.job()
    await world.edit(job, HALVES, 1)
    assert (await life(world, job))["code"] == "no_attempt"
    attempt = await world.attempt(job)
    await world.loader.get(f"{job}/mix")
    await world.report(job, attempt, record(0, 0, 4), record(1, 0, 4))
    seen = await life(world, job)
    assert (seen["state"], seen["code"]) == ("seen", "next_seal")

    world.clock.advance(1)
    await world.loader.post(f"{job}/activations", json=activation_body(attempt, "service:2", 100))
    agreed = await life(world, job)
    assert (agreed["state"], agreed["code"]) == ("agreed", "step_ahead")
    assert "Waits for step 100; the job is at 4, about 2 min at 0.781 steps/s." in agreed["message"]

    await world.report(job, attempt, record(0, 1, 110, mix_version=2), record(1, 1, 90))
    behind = await life(world, job)
    assert (behind["code"], behind["waiting"]["stuck"]) == ("ranks_behind", False)
    assert behind["message"] == "Waits for rank 1 not at step 100 yet."
    world.clock.advance(60)
    await world.report(job, attempt, record(0, 2, 140, mix_version=2))
    lost = await life(world, job)
    assert lost["waiting"]["stuck"] and "rank 1 lost, silent for 60 s" in lost["message"]
    pending = (await world.get(job))["pending_change"]["life"]["waiting"]
    assert pending["code"] == "ranks_behind", "the jobs page knows, too"

    await world.report(job, attempt, record(1, 2, 140, mix_version=2))
    done = await life(world, job)
    assert (done["state"], done["waiting"]) == ("applied", None)
    times = [done["proposed_at"], done["seen_at"], done["agreed_at"], done["applied_at"]]
    assert times == sorted(times) and None not in times


async def test_a_leader_that_stopped_asking_shows_as_stuck(world: World) -> None:
    job, attempt = await world.running_job()
    await world.loader.get(f"{job}/mix")
    await world.report(job, attempt, record(0, 0, 4), record(1, 0, 4))
    await caretaker.tick(world.runtime, key_uses=False)
    assert world.runtime.leader_polls == {}, "it is in the database, for every replica"
    world.clock.advance(300)
    await world.edit(job, HALVES, 1)
    assert (await life(world, job))["code"] == "next_poll", "not yet"
    world.clock.advance(20)
    await world.report(job, attempt, record(0, 1, 9), record(1, 1, 9))
    found = await life(world, job)
    assert (found["code"], found["waiting"]["stuck"]) == ("leader_silent", True)
    assert found["message"] == "The leader reports but has not asked for the mix for 5 min."
    await world.attempt(job)
    assert (await life(world, job))["code"] == "next_poll", "the new start has a moment"


@pytest.mark.parametrize("state", ["finished", "failed"])
async def test_an_edit_after_the_end_waits_for_the_next_start(world: World, state: str) -> None:
    job, attempt = await world.running_job()
    await world.loader.patch(f"{job}/attempts/{attempt['id']}", json={"state": state})
    await world.edit(job, HALVES, 1)
    found = await life(world, job)
    assert found["code"] == "attempt_ended" and f"Attempt 1 {state}" in found["message"]


async def test_after_the_services_own_absence_it_says_so(settings: Settings) -> None:
    async with running_world(settings) as world:
        job, attempt = await world.running_job()
        await world.report(job, attempt, record(0, 0, 4), record(1, 0, 4))
        await world.edit(job, HALVES, 1)
        stopped_at = world.clock.now
    async with running_world(settings) as world:
        world.runtime.downtime = type(world.runtime.downtime)(stopped_at, stopped_at + 630)
        world.clock.now = stopped_at + 610
        found = await life(world, job)
        assert (found["code"], "away for 10 min" in found["message"]) == ("service_away", True)
