"""Looks at live jobs: each kind fires and clears once, on real reports, over restarts, jumps of time and replicas."""

import asyncio

import pytest
import sqlalchemy as sa
from headrace_server.alerts import repository, watch
from headrace_server.rollups import service as rollups
from headrace_server.settings import Settings

from tests.backend.alerts.looking import ALERTS, MUTES, RULES, first_look, watched
from tests.backend.builders import DEFAULT_SOURCES, record, source_record
from tests.backend.world import World, running_world


async def test_a_lost_rank_fires_names_host_and_silence_and_clears_after_it_is_back(world: World) -> None:
    """A killed rank is named within the rule's time, and coming back resolves the alert, never an end (case V06)."""
    job = await watched(world)
    await job.rule("rank_lost", for_s=30, clear_for_s=60)
    await job.look(60, 0, 1)
    assert await job.alerts() == []
    await job.look(30, 0)
    assert await job.alerts() == [], "lost, but not for 30 s yet"
    await job.look(20, 0)
    [alert] = await job.alerts()
    assert (alert["state"], alert["value"], alert["attempt"], alert["job_name"]) == ("firing", 1, 1, "llama")
    assert alert["message"] == "rank 1 on host node-0 of 2 ranks last reported 40 s ago"
    assert alert["step"] > 0
    await job.look(60, 0, 1)
    assert [a["state"] for a in await job.alerts()] == ["firing"], "back, but not for 60 s yet"
    await job.look(20, 0, 1)
    [alert] = await job.alerts()
    assert (alert["state"], alert["resolution"]) == ("resolved", "all 2 ranks report")
    assert alert["message"].startswith("rank 1 on host node-0")


async def test_a_rank_that_comes_and_goes_fires_once(world: World) -> None:
    job = await watched(world)
    await job.rule("rank_lost", for_s=20, clear_for_s=120)
    for _ in range(5):
        await job.look(50, 0)
        await job.look(50, 0, 1)
    assert [a["state"] for a in await job.alerts()] == ["firing"]


async def test_a_job_that_reports_without_advancing_is_stalled(world: World) -> None:
    job = await watched(world)
    await job.rule("job_stalled", threshold=200)
    await job.look(200, 0, 1, advance=False)
    assert await job.alerts() == []
    await job.look(20, 0, 1, advance=False)
    [alert] = await job.alerts()
    assert alert["message"].startswith("rank 0 reports but has not advanced beyond step 5 for ")
    await job.look(70, 0, 1)
    assert [a["state"] for a in await job.alerts()] == ["resolved"]
    await job.look(300)
    assert (await job.alerts())[0]["message"].startswith("no rank has reported for ")


async def test_a_job_that_never_reports_is_told_of(world: World) -> None:
    await first_look(world)
    job = await world.job()
    await world.attempt(job)
    for _ in range(40):
        world.clock.advance(10)
        await watch.look_once(world.runtime)
    found = {a["kind"]: a["message"] for a in (await world.get(ALERTS))["items"]}
    assert found["rank_lost"] == "2 of 2 ranks have never reported in attempt 1"
    assert found["job_stalled"].startswith("no rank has reported for 5 min")


async def test_waiting_for_data_fires_above_and_clears_well_below(world: World) -> None:
    job = await watched(world)
    await job.rule("data_wait", for_s=60, clear_for_s=60)
    await job.look(60, 0, 1, wait_share=0.4)
    assert await job.alerts() == []
    await job.look(10, 0, 1, wait_share=0.4)
    assert [a["message"][:38] for a in await job.alerts()] == ["ranks wait for data 40 % of their time"]
    await job.look(200, 0, 1, wait_share=0.15)
    assert [a["state"] for a in await job.alerts()] == ["firing"], "below the threshold is not good again"
    await job.look(70, 0, 1, wait_share=0.05)
    assert [a["state"] for a in await job.alerts()] == ["resolved"]


async def test_throughput_below_its_own_median_fires(world: World) -> None:
    job = await watched(world)
    await job.rule("throughput_drop", for_s=30, clear_for_s=30)
    for _ in range(15):
        await job.look(60, 0, 1, every_s=20.0, interval_s=20.0, tokens=100_000)
        await rollups.roll_up(world.runtime)
    assert await job.alerts() == []
    await job.look(120, 0, 1, interval_s=20.0, tokens=30_000)
    [alert] = await job.alerts()
    assert "of the median of 10,000 tokens/s over the last 60 min" in alert["message"]
    assert alert["value"] < 0.5
    await job.look(120, 0, 1, interval_s=20.0, tokens=100_000)
    assert [a["state"] for a in await job.alerts()] == ["resolved"]


async def test_a_mix_that_drifts_fires_and_an_edited_mix_does_not(world: World) -> None:
    job = await watched(world)
    await job.rule("mix_drift", for_s=20, clear_for_s=20, window=50)
    delivered = {"web": 0, "code": 0, "legal": 0}

    async def go(looks: int, shares: dict[str, float], target: dict[str, int]) -> None:
        for _ in range(looks):
            for name in delivered:
                delivered[name] += round(500 * shares[name])
            step = job.step + 5
            sources = [source_record(name, step, target[name], ordinal=delivered[name]) for name in delivered]
            await job.look(10, 0, 1, sources=sources)

    asked = {name: ppm / 1_000_000 for name, ppm in DEFAULT_SOURCES.items()}
    edited = {"web": 100_000, "code": 700_000, "legal": 200_000}
    await go(12, asked, DEFAULT_SOURCES)
    await go(12, {name: ppm / 1_000_000 for name, ppm in edited.items()}, edited)
    assert await job.alerts() == [], "what was asked for changed, and what came changed with it"
    await go(12, asked, edited)
    [alert] = await job.alerts()
    assert alert["message"].startswith("web made up ")
    assert "; 10 % were asked for" in alert["message"]


async def test_epochs_by_the_end_and_epochs_left_fire(world: World) -> None:
    # 10,000 sequences an epoch, 100,000 sequences in the run: web is read 5 times.
    job = await watched(world)
    await job.rule("source_epochs", for_s=0)
    await job.rule("source_exhaustion", max_epochs=1, threshold=0.5)
    await job.look(20, 0, 1)
    assert [(a["kind"], a["message"]) for a in await job.alerts()] == [
        ("source_epochs", "web will have been read 5 times by the end of the run (0.055 so far)")
    ]
    job.step = 115
    sources = [source_record(name, 120, ppm) for name, ppm in DEFAULT_SOURCES.items()]
    await job.look(10, 0, 1, sources=sources)
    [alert] = [a for a in await job.alerts() if a["kind"] == "source_exhaustion"]
    assert alert["message"] == "web has been read 0.605 times of 1; 0.4 epochs are left"


@pytest.mark.parametrize("end", ["finished", "failed", "superseded", "archived"])
async def test_what_ended_resolves_its_alerts_and_raises_no_more(world: World, end: str) -> None:
    job = await watched(world)
    await job.rule("rank_lost", for_s=20)
    await job.look(60, 0)
    assert [a["state"] for a in await job.alerts()] == ["firing"]
    if end == "superseded":
        await world.attempt(job.job, started_at=world.clock.now)
    elif end == "archived":
        assert (await world.operator.patch(job.job, json={"archived": True})).status_code == 200
    else:
        body = {"state": end, "reason": "out of memory"}
        reply = await world.loader.patch(f"{job.job}/attempts/{job.attempt['id']}", json=body)
        assert reply.status_code == 200
    await job.look(10)
    [alert] = await job.alerts()
    said = {
        "finished": "attempt 1 finished: out of memory",
        "failed": "attempt 1 failed: out of memory",
        "superseded": "attempt 2 has taken over",
        "archived": "no longer watched: the rule is off or about other jobs, or the job is archived",
    }
    assert (alert["state"], alert["resolution"]) == ("resolved", said[end])
    if end != "superseded":
        await job.look(100)
        assert len(await job.alerts()) == 1


async def test_rules_are_about_the_jobs_they_name(world: World) -> None:
    job = await watched(world, tags={"team": "code", "size": "7b"})
    await job.rule("rank_lost", for_s=0, job_pattern="lla*", tags={"team": "code"})
    await job.rule("job_stalled", threshold=5, clear_at=5, job_pattern="mistral*")
    await job.rule("data_wait", threshold=0, clear_at=0, for_s=0, tags={"team": "data"})
    await job.look(40, 0)
    assert [a["kind"] for a in await job.alerts()] == ["rank_lost"]


async def test_a_rule_switched_off_narrowed_or_deleted_resolves_what_it_raised(world: World) -> None:
    job = await watched(world)
    made = [await job.rule("rank_lost", name=name, for_s=0) for name in ("off", "narrowed", "deleted", "kept")]
    await job.look(40, 0)
    assert len(await job.alerts(state="firing")) == 4
    assert (await job.admin.patch(f"{RULES}/{made[0]['id']}", json={"enabled": False})).status_code == 200
    assert (await job.admin.patch(f"{RULES}/{made[1]['id']}", json={"job_pattern": "x"})).status_code == 200
    assert (await job.admin.delete(f"{RULES}/{made[2]['id']}")).status_code == 204
    deleted = (await job.alerts(state="resolved"))[0]
    assert (deleted["rule"], deleted["rule_name"], deleted["resolution"]) == (None, "deleted", "the rule was deleted")
    await job.look(10, 0)
    assert [a["rule_name"] for a in await job.alerts(state="firing")] == ["kept"]


async def test_what_fires_goes_on_over_a_restart_and_fires_no_second_time(settings: Settings) -> None:
    async with running_world(settings) as world:
        job = await watched(world)
        await job.rule("rank_lost", for_s=20, clear_for_s=30)
        await job.look(50, 0)
        [before] = await job.alerts()
        stopped_at = world.clock.now
    async with running_world(settings) as again:
        job.world = again
        again.clock.now = stopped_at + 600
        assert await job.alerts() == [before]
        # Nobody looked for ten minutes: at first nothing is decided, whatever is heard.
        await job.look(10)
        assert await job.alerts() == [before]
        await job.look(100, 0)
        assert [(a["id"], a["state"]) for a in await job.alerts()] == [(before["id"], "firing")]
        await job.look(50, 0, 1)
        assert [(a["id"], a["state"]) for a in await job.alerts()] == [(before["id"], "resolved")]


async def test_downtime_and_a_jump_of_the_clock_fire_nothing(world: World) -> None:
    job = await watched(world)
    await job.rule("rank_lost", for_s=0)
    await job.rule("job_stalled", threshold=60)
    await job.look(60, 0, 1)
    for jump in (7200.0, -3600.0):
        world.clock.advance(jump)
        await watch.look_once(world.runtime)
        await watch.look_once(world.runtime)
        assert await job.alerts() == [], jump
        await job.look(100, 0, 1)
        assert await job.alerts() == [], jump
    await job.look(60, 0)
    assert [a["kind"] for a in await job.alerts()] == ["rank_lost"]


async def test_one_look_at_a_time_and_one_alert_however_many_look(world: World) -> None:
    job = await watched(world)
    await job.rule("rank_lost", for_s=0)
    for _ in range(5):
        world.clock.advance(10)
        await job.report(0)
        await asyncio.gather(*(watch.look_once(world.runtime) for _ in range(6)))
    assert len(await job.alerts()) == 1
    if not world.runtime.settings.is_sqlite:
        world.clock.advance(10)
        async with world.runtime.database.write() as session:
            assert await repository.lead(session)
            before = await repository.clock(session)
            assert await watch.look_once(world.runtime) == 0
            assert await repository.clock(session) == before


async def test_a_mute_keeps_it_quiet_and_is_made_up_for_when_it_ends(world: World) -> None:
    job = await watched(world)
    rule = await job.rule("rank_lost", for_s=0)
    reply = await world.operator.post(MUTES, json={"rule": rule["id"], "for_s": 100, "reason": "maintenance"})
    assert reply.status_code == 200, reply.text
    await job.look(60, 0)
    assert [(a["state"], a["announced"]) for a in await job.alerts()] == [("firing", False)]
    await job.look(50, 0)
    assert [(a["state"], a["announced"]) for a in await job.alerts()] == [("firing", True)]
    assert (await world.get(MUTES))["items"] == []


async def test_a_look_costs_as_many_statements_for_ten_jobs_as_for_one(world: World) -> None:
    await first_look(world)
    seen: list[int] = []
    count = 0

    looking = asyncio.current_task()

    def counted(*_: object) -> None:
        nonlocal count
        count += asyncio.current_task() is looking  # and not what runs beside it

    sa.event.listen(world.runtime.database.engine.sync_engine, "after_cursor_execute", counted)
    for num in (1, 9):
        for i in range(num):
            job = await world.job(f"job-{num}-{i}")
            attempt = await world.attempt(job)
            await world.report(job, attempt, record(0), record(1))
        world.clock.advance(10)
        count = 0
        await watch.look_once(world.runtime)
        seen.append(count)
    # At the second look there are states to update, too.
    assert seen[1] <= seen[0] + 2 < 40
