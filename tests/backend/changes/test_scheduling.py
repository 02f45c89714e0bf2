"""Changes for a step or a time: made while the mix is the one they were made for, and otherwise never."""

import asyncio
from datetime import UTC, datetime
from typing import Any

import httpx
from headrace_server.changes import carrier
from headrace_server.settings import Settings

from tests.backend.builders import activation_body, record
from tests.backend.world import World, running_world

HALVES = {"web": 1, "code": 1, "legal": 0}
HALVES_PPM = {"web": 500_000, "code": 500_000, "legal": 0}


async def post(world: World, job: str, base: int = 1, **changes: Any) -> httpx.Response:
    body = {"weights": HALVES, "reason": "a plan", **changes}
    headers = {"If-Match": f'"v{base}"'}
    return await world.operator.post(f"{job}/mix/changes", json=body, headers=headers)


async def plan(world: World, job: str, base: int = 1, **changes: Any) -> Any:
    reply = await post(world, job, base, **changes)
    assert reply.status_code == 201, reply.text
    return reply.json()


async def change(world: World, job: str, planned: Any) -> Any:
    return await world.get(f"{job}/mix/changes/{planned['id']}")


async def newest(world: World, job: str) -> Any:
    return await world.get(f"{job}/mix")


async def actions(world: World, job: str) -> list[str]:
    events = (await world.get("/api/v1/audit", job=job[-36:], limit=200))["items"]
    return [event["action"] for event in reversed(events) if event["action"].startswith("mix.")]


async def test_a_change_for_a_step_becomes_a_version_shortly_before_it(world: World) -> None:
    job, attempt = await world.running_job()
    await world.report(job, attempt, record(0, 0, 4), record(1, 0, 4))
    planned = await plan(world, job, at_step=500, ramp_steps=10)
    assert (planned["state"], planned["starts"], planned["at_step"], planned["base_version"]) == (
        "scheduled",
        "step",
        500,
        1,
    )
    await carrier.tick(world.runtime)
    assert (await newest(world, job))["version"] == 1, "far ahead, it stands in nobody's way"

    await world.report(job, attempt, record(0, 1, 420), record(1, 1, 420))
    await carrier.tick(world.runtime)
    version = await newest(world, job)
    assert (version["version"], version["from_step"], version["ramp_steps"]) == (2, 500, 10)
    assert (version["weights_ppm"], version["author"], version["change"]) == (
        HALVES_PPM,
        "key:read-operate",
        planned["id"],
    )
    done = await change(world, job, planned)
    assert (done["state"], done["version"], done["late_steps"], done["conflict"]) == ("done", 2, None, None)
    assert await carrier.tick(world.runtime) == 0

    await world.loader.post(f"{job}/activations", json=activation_body(attempt, "service:2", 500))
    assert (await change(world, job, planned))["late_steps"] == 0
    assert await actions(world, job) == ["mix.configure", "mix.change.create", "mix.edit"]


async def test_a_change_for_a_time_is_made_then(world: World) -> None:
    job = await world.job()
    at = world.clock.now + 3600
    planned = await plan(world, job, at=datetime.fromtimestamp(at, UTC).isoformat())
    await carrier.tick(world.runtime)
    assert (await newest(world, job))["version"] == 1
    world.clock.now = at + 2
    await carrier.tick(world.runtime)
    version = await newest(world, job)
    assert (version["version"], version["from_step"], version["weights_ppm"]) == (2, None, HALVES_PPM)
    done = await change(world, job, planned)
    assert (done["state"], done["version"]) == ("done", 2)
    assert abs(done["late_s"] - 2) < 0.01


async def test_after_an_edit_a_change_needs_attention_and_shows_three_sides(world: World) -> None:
    job = await world.job()
    planned = await plan(world, job, at=world.clock.now + 60)
    theirs = (await world.edit(job, {"web": 3, "code": 1, "legal": 0}, 1)).json()
    world.clock.advance(61)
    await carrier.tick(world.runtime)
    assert (await newest(world, job))["version"] == 2, "the edit stands"
    found = await change(world, job, planned)
    assert found["state"] == "needs_attention"
    assert "version 2 by key:read-operate" in found["why"]
    conflict = found["conflict"]
    assert (conflict["base"]["version"], conflict["theirs"]["version"]) == (1, 2)
    assert conflict["theirs"]["weights_ppm"] == theirs["weights_ppm"]
    assert conflict["difference"] == [
        {"source": "web", "base_ppm": 500_000, "theirs_ppm": 750_000, "ours_ppm": 500_000},
        {"source": "code", "base_ppm": 300_000, "theirs_ppm": 250_000, "ours_ppm": 500_000},
        {"source": "legal", "base_ppm": 200_000, "theirs_ppm": 0, "ours_ppm": 0},
    ]
    await carrier.tick(world.runtime)
    assert (await newest(world, job))["version"] == 2
    assert "mix.change.attention" in await actions(world, job)


async def test_what_needs_attention_is_made_anew_or_dismissed(world: World) -> None:
    job = await world.job()
    planned = [await plan(world, job, at=world.clock.now + 60, reason=f"plan {i}") for i in range(3)]
    await world.edit(job, {"web": 3, "code": 1, "legal": 0}, 1)
    world.clock.advance(61)
    await carrier.tick(world.runtime)
    early = await world.edit(job, HALVES, 1, replaces=planned[0]["id"])
    assert early.status_code == 412, "anew means on the newest version"
    assert (await world.edit(job, HALVES, 2, replaces=planned[0]["id"])).status_code == 200
    again = await plan(world, job, 3, at=world.clock.now + 60, replaces=planned[1]["id"])
    gone = await world.operator.delete(f"{job}/mix/changes/{planned[2]['id']}", params={"reason": "not now"})
    assert gone.status_code == 200
    states = [(await change(world, job, one))["state"] for one in planned]
    assert states == ["replaced", "replaced", "dismissed"]
    assert gone.json()["why"] == "not now"
    settled = await world.edit(job, HALVES, 3, replaces=planned[2]["id"])
    assert (settled.status_code, settled.json()["code"]) == (409, "conflict")
    world.clock.advance(61)
    await carrier.tick(world.runtime)
    assert (await change(world, job, again))["state"] == "done"


async def test_an_edit_between_the_version_and_its_step_is_a_conflict_too(world: World) -> None:
    job, attempt = await world.running_job()
    await world.report(job, attempt, record(0, 0, 420), record(1, 0, 420))
    planned = await plan(world, job, at_step=500)
    await carrier.tick(world.runtime)
    assert (await change(world, job, planned))["version"] == 2
    await world.edit(job, {"web": 3, "code": 1, "legal": 0}, 2)
    found = await change(world, job, planned)
    assert found["state"] == "needs_attention"
    assert "version 3 by key:read-operate came before step 500" in found["why"]
    # A leader that had sealed it before it heard of the edit is right.
    await world.loader.post(f"{job}/activations", json=activation_body(attempt, "service:2", 503))
    found = await change(world, job, planned)
    assert (found["state"], found["late_steps"], found["conflict"]) == ("done", 3, None)


async def test_a_plan_of_several_steps_follows_itself(world: World) -> None:
    job, attempt = await world.running_job()
    await world.report(job, attempt, record(0, 0, 4), record(1, 0, 4))
    first = await plan(world, job, at_step=300)
    second = await plan(world, job, at_step=900, weights={"web": 0, "code": 1, "legal": 1}, follows=first["id"])
    assert (second["follows"], second["base_version"]) == (first["id"], None)
    await world.report(job, attempt, record(0, 1, 250), record(1, 1, 250))
    await carrier.tick(world.runtime)
    assert (await change(world, job, second))["base_version"] == 2
    await world.report(job, attempt, record(0, 2, 850), record(1, 2, 850))
    await carrier.tick(world.runtime)
    assert (await change(world, job, second))["version"] == 3
    third = await plan(world, job, 3, at_step=5000)
    fourth = await plan(world, job, 3, at_step=5001, follows=third["id"])
    await world.operator.delete(f"{job}/mix/changes/{third['id']}")
    await world.report(job, attempt, record(0, 3, 4950), record(1, 3, 4950))
    await carrier.tick(world.runtime)
    found = await change(world, job, fourth)
    assert (found["state"], found["conflict"]["base"]) == ("needs_attention", None)
    assert (await newest(world, job))["version"] == 3
    assert (await post(world, job, 3, at_step=6000, follows=third["id"])).status_code == 409


async def test_a_change_survives_a_restart_and_is_made_late(settings: Settings) -> None:
    async with running_world(settings) as world:
        job = await world.job()
        soon = await plan(world, job, at=world.clock.now + 60)
        end = world.clock.now
        other = await world.job("other")
        past = await plan(world, other, at=world.clock.now + 60)
    short = settings.model_copy(update={"schedule_late_s": 3600.0})
    async with running_world(short) as world:
        world.clock.now = end + 60 + 1800
        await carrier.tick(world.runtime)
        found = await change(world, job, soon)
        assert found["state"] == "done"
        assert abs(found["late_s"] - 1800) < 1
        # The other was carried out by the same tick; one that is later still is for people to decide.
        assert (await change(world, other, past))["state"] == "done"
        third = await plan(world, job, 2, at=world.clock.now + 60)
        world.clock.advance(60 + 3601)
        await carrier.tick(world.runtime)
        found = await change(world, job, third)
        assert (found["state"], round(found["late_s"])) == ("needs_attention", 3601)
        assert "at most 3600 s" in found["why"]
        assert (await newest(world, job))["version"] == 2


async def test_a_step_that_passed_unseen_is_made_up_for_and_says_so(world: World) -> None:
    job, attempt = await world.running_job()
    await world.report(job, attempt, record(0, 0, 4), record(1, 0, 4))
    planned = await plan(world, job, at_step=500)
    await world.report(job, attempt, record(0, 1, 600), record(1, 1, 600))
    await carrier.tick(world.runtime)
    found = await change(world, job, planned)
    # 101 steps at 10,000 tokens a second of 12,800 a step.
    assert (found["state"], round(found["late_s"])) == ("done", 129)
    await world.loader.post(f"{job}/activations", json=activation_body(attempt, "service:2", 612))
    assert (await change(world, job, planned))["late_steps"] == 112


async def test_what_waits_for_a_finished_run_expires(world: World) -> None:
    job, attempt = await world.running_job()
    planned = [await plan(world, job, at_step=9000), await plan(world, job, at=world.clock.now + 60)]
    await world.loader.patch(f"{job}/attempts/{attempt['id']}", json={"state": "finished"})
    world.clock.advance(61)
    await carrier.tick(world.runtime)
    assert [(await change(world, job, one))["state"] for one in planned] == ["expired", "expired"]
    assert (await newest(world, job))["version"] == 1


async def test_many_carriers_make_one_version(settings: Settings) -> None:
    """Two apps on one database, looking at once, over and over."""
    async with running_world(settings) as world, running_world(settings) as other:
        job = await world.job()
        for base in range(1, 6):
            await plan(world, job, base, at=world.clock.now + 60, weights={"web": base, "code": 1, "legal": 1})
            world.clock.advance(61)
            other.clock.now = world.clock.now
            counts = await asyncio.gather(*(carrier.tick(one.runtime) for one in (world, other) for _ in range(4)))
            # The apps look by themselves too.
            assert sum(counts) <= 1
            assert (await newest(world, job))["version"] == base + 1
        states = [one["state"] for one in (await world.get(f"{job}/mix/changes"))["items"]]
        assert states == ["done"] * 5
        made = [action for action in await actions(world, job) if action == "mix.edit"]
        assert len(made) == 5


async def test_a_wrong_change_is_refused_and_says_why(world: World) -> None:
    job, attempt = await world.running_job()
    await world.report(job, attempt, record(0, 0, 50), record(1, 0, 50))
    later = world.clock.now + 60
    for body in (
        {},
        {"at_step": 100, "at": later},
        {"at_step": 50},
        {"at_step": -1},
        {"at": world.clock.now - 1},
        {"at": "2030-01-01T00:00:00"},
        {"at": "tomorrow"},
        {"at": 9e99},
        {"at": later, "reason": " "},
        {"at": later, "weights": {"web": 1}},
        {"at": later, "surprise": 1},
    ):
        reply = await post(world, job, **body)  # type: ignore[arg-type]
        assert (reply.status_code, reply.json()["code"]) == (422, "invalid"), (body, reply.text)
    stale = await post(world, job, 9, at=later)
    assert (stale.status_code, stale.json()["current"]["version"]) == (412, 1)
    bare = await world.operator.post(f"{job}/mix/changes", json={"weights": HALVES, "reason": "r", "at": later})
    assert bare.status_code == 428
    assert (await world.get(f"{job}/mix/changes"))["items"] == []
    unknown = "00000000-0000-4000-8000-000000000000"
    assert (await world.operator.delete(f"{job}/mix/changes/{unknown}")).status_code == 404
    assert (await post(world, job, at=later, follows=unknown)).status_code == 404
    done = await plan(world, job, at=later)
    assert (await world.operator.delete(f"{job}/mix/changes/{done['id']}")).json()["state"] == "cancelled"
    again = await world.operator.delete(f"{job}/mix/changes/{done['id']}")
    assert (again.status_code, again.json()["code"]) == (409, "conflict")


async def test_changes_come_in_pages_and_by_state(world: World) -> None:
    job = await world.job()
    for i in range(5):
        await plan(world, job, at=world.clock.now + 60 + i, reason=f"plan {i}")
    first = await world.get(f"{job}/mix/changes", limit=3)
    rest = await world.get(f"{job}/mix/changes", limit=3, cursor=first["next_cursor"])
    assert [one["reason"] for one in first["items"] + rest["items"]] == [f"plan {i}" for i in (4, 3, 2, 1, 0)]
    assert rest["next_cursor"] is None
    await world.operator.delete(f"{job}/mix/changes/{first['items'][0]['id']}")
    assert len((await world.get(f"{job}/mix/changes", state="scheduled"))["items"]) == 4
    assert (await world.viewer.get(f"{job}/mix/changes")).status_code == 200
    denied = await world.viewer.post(f"{job}/mix/changes", json={}, headers={"If-Match": '"v1"'})
    assert denied.status_code == 403


async def test_no_more_than_a_hundred_wait(world: World) -> None:
    job = await world.job()
    for _ in range(100):
        await plan(world, job, at=world.clock.now + 60)
    full = await post(world, job, at=world.clock.now + 60)
    assert (full.status_code, full.json()["code"]) == (409, "conflict")


async def test_changes_are_listed_by_several_states_at_once(world: World) -> None:
    job, _ = await world.running_job()
    kept, dropped = await plan(world, job, at_step=900_000), await plan(world, job, at_step=900_001)
    assert (await world.operator.delete(f"{job}/mix/changes/{dropped['id']}")).status_code == 200

    async def listed(*states: str) -> list[str]:
        return [item["id"] for item in (await world.get(f"{job}/mix/changes", state=list(states)))["items"]]

    assert await listed("scheduled", "needs_attention") == [kept["id"]]
    assert await listed("cancelled") == [dropped["id"]]
    assert await listed("scheduled", "cancelled") == [dropped["id"], kept["id"]]
