"""What a step took from each source, from what was reported around it; and what is said where that doesn't tell."""

import uuid
from typing import Any

import pytest
import sqlalchemy as sa
from headrace_server import models

from tests.backend.builders import DEFAULT_SOURCES, Body, activation_body, record, source_record
from tests.backend.world import World

EXACT = [("web", 50), ("code", 30), ("legal", 20)]


async def begun(world: World) -> tuple[str, Body]:
    """A job of one rank whose leader recorded the configured mix."""
    job, attempt = await world.running_job(1)
    await activate(world, job, attempt, "config:1", 0)
    return job, attempt


async def activate(world: World, job: str, attempt: Body, revision: str, step: int, **more: Any) -> None:
    reply = await world.loader.post(f"{job}/activations", json=activation_body(attempt, revision, step, **more))
    assert reply.status_code == 200, reply.text


async def steps(world: World, job: str, attempt: Body, *reported: int, first_seq: int = 0) -> None:
    records = [record(0, first_seq + seq, step) for seq, step in enumerate(reported)]
    assert (await world.report(job, attempt, *records))["rejected"] == []


def parts(found: Any) -> list[tuple[str, int]]:
    return [(part["source"], part["num_sequences"]) for part in found["sources"]]


async def test_a_step_between_reports_is_computed_and_checked(world: World) -> None:
    job, attempt = await begun(world)
    await steps(world, job, attempt, 4, 9)
    found = await world.get(f"{job}/trace", step=7)
    assert (found["certainty"], found["num_sequences"], found["last_step"]) == ("checked", 100, 9)
    assert parts(found) == EXACT
    assert "whose counts were reported, and the report at step 9 agrees" in found["statement"]
    assert [(p["first_ordinal"], p["last_ordinal"]) for p in found["sources"]] == [(350, 399), (210, 239), (140, 159)]
    assert {(p["first_epoch"], p["last_epoch"]) for p in found["sources"]} == {(0, 0)}
    assert found["mix"] == {"version": 1, "revision": "config:1", "from_step": 0, "ramp_steps": 0, "ramp_done": 0}
    assert [p["weight_ppm"] for p in found["sources"]] == list(DEFAULT_SOURCES.values())


async def test_a_step_with_both_ends_reported_needs_no_mix_and_the_first_needs_no_report_before_it(
    world: World,
) -> None:
    job, attempt = await world.running_job(1)
    await steps(world, job, attempt, 4, 5)
    found = await world.get(f"{job}/trace", step=5)
    assert (found["certainty"], found["mix"]) == ("recorded", None)
    assert parts(found) == EXACT
    untold = await world.get(f"{job}/trace", step=0)
    assert (untold["certainty"], "No mix is recorded" in untold["statement"]) == ("unknown", True)
    assert [part["num_sequences"] for part in untold["sources"]] == [None] * 3
    await activate(world, job, attempt, "config:1", 0)
    assert (await world.get(f"{job}/trace", step=0))["certainty"] == "checked"


async def test_a_step_to_come_is_a_forecast_and_an_edit_shows_with_its_ramp(world: World) -> None:
    job, attempt = await begun(world)
    await steps(world, job, attempt, 4)
    assert (await world.edit(job, {"web": 1, "code": 0, "legal": 0}, 1)).status_code == 200
    weights = {"web": 1_000_000, "code": 0, "legal": 0}
    await activate(world, job, attempt, "service:2", 10, weights_ppm=weights, ramp_steps=4)
    found = await world.get(f"{job}/trace", step=12)
    assert (found["certainty"], "forecast" in found["statement"]) == ("forecast", True)
    assert (found["mix"]["version"], found["mix"]["ramp_done"], found["mix"]["ramp_steps"]) == (2, 2, 4)
    assert [part["weight_ppm"] for part in found["sources"]] == [750_000, 150_000, 100_000]
    assert sum(part["num_sequences"] for part in found["sources"]) == 100
    later = await world.get(f"{job}/trace", step=1000)
    assert parts(later) == [("web", 100), ("code", 0), ("legal", 0)]
    assert later["sources"][1]["first_ordinal"] is None


async def test_of_two_attempts_the_last_to_train_a_step_counts(world: World) -> None:
    job, first = await begun(world)
    await steps(world, job, first, 4, 9)
    second = await world.attempt(job, 1, resumed_from_step=5, lineage=first["lineage"])
    await steps(world, job, second, 6)
    found = await world.get(f"{job}/trace", step=6)
    assert [(a["number"], a["holds"], a["first_step"], a["last_step"]) for a in found["attempts"]] == [
        (1, False, 0, 9),
        (2, True, 5, 6),
    ]
    assert found["certainty"] == "checked"
    # What only the older one trained is not on the line any more.
    assert (await world.get(f"{job}/trace", step=9))["certainty"] == "forecast"
    assert [a["holds"] for a in (await world.get(f"{job}/trace", step=3))["attempts"]] == [True]


async def test_what_the_weights_do_not_give_is_not_shown(world: World) -> None:
    job, attempt = await begun(world)
    await steps(world, job, attempt, 4)
    moved = [source_record(name, 9, ppm) for name, ppm in DEFAULT_SOURCES.items()]
    moved[0]["ordinal"] += 1
    moved[1]["ordinal"] -= 1
    await world.report(job, attempt, record(0, 1, 9, sources=moved))
    found = await world.get(f"{job}/trace", step=7)
    assert (found["certainty"], found["num_sequences"]) == ("unknown", None)
    assert "is not what was reported at step 9" in found["statement"]


async def test_a_run_of_unlike_steps_is_not_computed(world: World) -> None:
    job, attempt = await begun(world)
    short = [source_record(name, 2, ppm) for name, ppm in DEFAULT_SOURCES.items()]
    await world.report(job, attempt, record(0, 0, 4, sources=short))
    found = await world.get(f"{job}/trace", step=7)
    assert (found["certainty"], "were not all of 100 sequences" in found["statement"]) == ("unknown", True)


async def test_a_source_that_ends_is_not_counted_past_its_end(world: World) -> None:
    sources = [
        {"name": name, "weight_ppm": ppm, "num_documents": 9, "num_tokens": 1_280_000, "num_shards": 1}
        for name, ppm in DEFAULT_SOURCES.items()
    ]
    job = await world.job(sources=[{**sources[0], "end_ordinal": 400}, *sources[1:]])
    attempt = await world.attempt(job, 1)
    await activate(world, job, attempt, "config:1", 0)
    await steps(world, job, attempt, 4)
    assert (await world.get(f"{job}/trace", step=6))["certainty"] == "forecast"
    found = await world.get(f"{job}/trace", step=7)
    assert (found["certainty"], "with an end is used up" in found["statement"]) == ("unknown", True)


async def test_old_steps_are_told_from_their_minutes(world: World) -> None:
    job, attempt = await begun(world)
    await steps(world, job, attempt, 4, 9)
    async with world.runtime.database.write() as session:
        rows = (
            await session.execute(sa.select(models.SourceProgress).where(models.SourceProgress.step == 4))
        ).scalars()
        for row in rows.all():
            session.add(
                models.SourceRollup(
                    attempt_id=row.attempt_id, minute=0, source_id=row.source_id, num_steps=5, step=4, time=0.0,
                    ordinal=row.ordinal, epoch=0, target_ppm=row.target_ppm, tokens=0, loss_sum=0.0, loss_count=0,
                )
            )  # fmt: skip
        await session.execute(sa.delete(models.SourceProgress).where(models.SourceProgress.step == 4))
    assert "the weights since step 4, whose counts" in (await world.get(f"{job}/trace", step=7))["statement"]


@pytest.mark.parametrize("step", ["-1", "1.5", "x", str(2**60)])
async def test_odd_steps_are_refused(world: World, step: str) -> None:
    job, _ = await world.running_job(1)
    assert (await world.operator.get(f"{job}/trace", params={"step": step})).status_code == 422


async def test_a_job_of_others_and_one_without_a_start(world: World) -> None:
    job = await world.job()
    found = await world.get(f"{job}/trace", step=3)
    assert (found["certainty"], found["attempts"], found["last_step"]) == ("unknown", [], None)
    assert (await world.operator.get(f"/api/v1/jobs/{uuid.uuid4()}/trace", params={"step": 1})).status_code == 404
