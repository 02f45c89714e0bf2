"""Several jobs on one axis: each line is the job's own series, and nobody sees more than their jobs."""

import uuid
from typing import Any

import pytest

from tests.backend.builders import Body, job_body, record, source_record
from tests.backend.world import World


async def reporting(world: World, name: str, *, started: float, loss: float) -> str:
    """A job of one rank with reports at steps 4, 9 and 14, two seconds apart."""
    job = await world.job(name)
    attempt = await world.attempt(job, 1, started_at=started)
    for seq, step in enumerate((4, 9, 14)):
        sources = [
            source_record("web", step, 500_000, loss_sum=loss * 10, loss_count=10),
            source_record("code", step, 300_000, loss_sum=(loss + 1) * 30, loss_count=30),
            source_record("legal", step, 200_000, loss_sum=0.0, loss_count=0),
        ]
        report = record(0, seq, step, time=started + 2 + 2 * seq, sources=sources, tokens=int(loss * 1000))
        await world.report(job, attempt, report)
    return job


def id_of(job: str) -> str:
    return job.rpartition("/")[2]


async def two(world: World) -> tuple[str, str]:
    now = world.clock()
    first = await reporting(world, "first", started=now - 1000, loss=2.0)
    return first, await reporting(world, "second", started=now - 500, loss=4.0)


async def rows(world: World, job: str, metric: str, *others: str, **query: Any) -> list[list[Any]]:
    found = await world.get(f"{job}/comparison/{metric}", **{"with": list(others)}, **query)
    table: list[list[Any]] = found["table"]["rows"]
    return table


async def test_a_line_a_job_over_steps(world: World) -> None:
    first, second = await two(world)
    found = await world.get(f"{first}/comparison/tokens_per_s", **{"with": [id_of(second)]})
    assert [column["label"] for column in found["table"]["columns"]] == ["step", "first", "second"]
    assert found["table"]["rows"] == [[step, 1000.0, 2000.0] for step in (4, 9, 14)]
    assert [trace["name"] for trace in found["figure"]["data"]] == ["first", "second"]
    assert "Last: first 1,000 tokens/s; second 2,000 tokens/s." in found["description"]
    assert (found["name"], found["title"]) == ("compare-throughput", "Throughput")
    assert await rows(world, first, "wait_share", id_of(second)) == [[step, 2.0, 2.0] for step in (4, 9, 14)]


async def test_time_since_each_start_lines_them_up(world: World) -> None:
    first, second = await two(world)
    found = await world.get(f"{first}/comparison/tokens_per_s", **{"with": [id_of(second)], "x": "elapsed"})
    x = found["table"]["columns"][0]
    assert (x["label"], x["unit"]) == ("time since start", "min")
    assert [row[0] for row in found["table"]["rows"]] == pytest.approx([2 / 60, 4 / 60, 6 / 60], rel=1e-5)
    assert [row[1:] for row in found["table"]["rows"]] == [[1000.0, 2000.0]] * 3
    assert found["figure"]["layout"]["xaxis"]["title"]["text"] == "time since start (min)"
    assert found["figure"]["layout"]["xaxis"]["type"] == "linear"


async def test_tokens_line_up_jobs_of_other_batch_sizes_also_in_a_part(world: World) -> None:
    first = await reporting(world, "first", started=world.clock() - 100, loss=2.0)
    job = await world.job("half", global_batch_size=50)
    attempt = await world.attempt(job, 1)
    for seq, step in enumerate((9, 19, 29)):
        sources = [source_record("web", step, 1_000_000, loss_sum=40.0, loss_count=10)]
        report = record(0, seq, step, tokens=1000, total_tokens=(step + 1) * 6400, sources=sources)
        await world.report(job, attempt, report)
    for metric, query, ours, theirs in (
        ("tokens_per_s", {}, 1000.0, 500.0),
        ("loss", {}, 2.75, 4.0),
        ("loss", {"source": "web"}, 2.0, 4.0),
    ):
        found = await world.get(f"{first}/comparison/{metric}", **{"with": [id_of(job)], "x": "tokens"}, **query)
        both = [[x, pytest.approx(ours), pytest.approx(theirs)] for x in (64_000, 128_000, 192_000)]
        assert found["table"]["rows"] == both
        assert found["table"]["columns"][0] == {"key": "x", "label": "tokens", "unit": "tokens"}
        assert found["figure"]["layout"]["xaxis"]["title"]["text"] == "tokens"
        part = await world.get(
            f"{first}/comparison/{metric}",
            **{"with": [id_of(job)], "x": "tokens", "from": 100_000, "to": 130_000},
            **query,
        )
        assert part["table"]["rows"] == both[1:2]
        assert found["extent"] == {"low": 64_000, "high": 192_000}


async def test_a_part_of_the_time_since_start_is_in_seconds_and_one_unit_is_in_all(world: World) -> None:
    """Also where one measure has fewer points than another: the charts of a page share their axis."""
    job = await world.job("long")
    attempt = await world.attempt(job, 1, started_at=world.clock() - 10_000)
    for seq, age in enumerate((9_000, 5_000, 0)):
        sources = [source_record("web", seq, 1_000_000, loss_sum=2.0, loss_count=1 if age > 5_000 else 0)]
        await world.report(job, attempt, record(0, seq, seq, time=world.clock() - age, sources=sources))
    loss = await world.get(f"{job}/comparison/loss", x="elapsed")
    speed = await world.get(f"{job}/comparison/tokens_per_s", x="elapsed", **{"from": 4_000, "to": 6_000})
    for figure, x, low in ((loss, 1000 / 3600, 1_000), (speed, 5000 / 3600, 5_000)):
        assert figure["table"]["columns"][0]["unit"] == "h"
        assert figure["figure"]["layout"]["meta"] == {"x_unit_s": 3600}
        assert [row[0] for row in figure["table"]["rows"]] == [pytest.approx(x, rel=1e-5)]
        assert figure["extent"] == {"low": pytest.approx(low), "high": pytest.approx(low)}


async def test_the_loss_of_all_sources_is_weighted_by_sequences_and_of_one_its_own(world: World) -> None:
    first, second = await two(world)
    total = await rows(world, first, "loss", id_of(second))
    assert total == [[step, pytest.approx(2.75), pytest.approx(4.75)] for step in (4, 9, 14)]
    assert await rows(world, first, "loss", id_of(second), source="web") == [[step, 2.0, 4.0] for step in (4, 9, 14)]
    assert await rows(world, first, "loss", id_of(second), source="legal") == []


async def test_a_share_is_of_a_source_and_a_job_without_it_has_no_line(world: World) -> None:
    first, second = await two(world)
    body = job_body("third")
    body["sources"][0]["name"] = "other"
    third = (await world.loader.post("/api/v1/projects/default/jobs", json=body)).json()["id"]
    found = await world.get(f"{first}/comparison/share", **{"with": [id_of(second), third], "source": "web"})
    assert found["table"]["rows"][-1] == [14, 50.0, 50.0, None]
    assert found["title"] == "Realised share of web"
    for metric, query, status in (("share", {}, 422), ("wait_share", {"source": "web"}, 422), ("tokens", {}, 404)):
        reply = await world.operator.get(f"{first}/comparison/{metric}", params=query)
        assert reply.status_code == status, reply.text


async def test_a_job_of_others_is_not_compared_and_twice_is_once(world: World) -> None:
    first, second = await two(world)
    foreign = await world.caller("ingest", project="other")
    theirs = (await foreign.post("/api/v1/projects/other/jobs", json=job_body("theirs"))).json()["id"]
    for other in (theirs, str(uuid.uuid4()), "x"):
        reply = await world.operator.get(f"{first}/comparison/loss", params={"with": [id_of(second), other]})
        assert (reply.status_code, reply.json()["detail"]) == (404, f"no job {other!r}")
    twice: Body = await world.get(f"{first}/comparison/loss", **{"with": [id_of(first), id_of(second)]})
    assert len(twice["table"]["columns"]) == 3


async def test_ten_at_most(world: World) -> None:
    jobs = [await world.job(f"job-{number}") for number in range(11)]
    others = [id_of(job) for job in jobs[1:]]
    reply = await world.operator.get(f"{jobs[0]}/comparison/loss", params={"with": others})
    assert (reply.status_code, "11 jobs are given" in reply.json()["detail"]) == (422, True)
    found = await world.get(f"{jobs[0]}/comparison/loss", **{"with": others[:9]})
    assert (found["table"]["rows"], "Nothing reported yet" in found["description"]) == ([], True)
    assert len(found["table"]["columns"]) == 11


async def test_old_losses_come_from_minutes(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    from headrace_server.rollups import service as rollups

    first, second = await two(world)
    world.clock.advance(600)
    exact = await rows(world, first, "loss", id_of(second))
    await rollups.roll_up(world.runtime)
    monkeypatch.setattr("headrace_server.series.service.MAX_REPORTS", 0)
    by_minute = await rows(world, first, "loss", id_of(second))
    assert by_minute[-1] == exact[-1]
    # A report that comes late waits to be rolled up, and is seen all the same.
    attempts = (await world.get(f"{first}/attempts"))["items"]
    late = record(0, 3, 19, sources=[source_record("web", 19, 500_000, loss_sum=70.0, loss_count=10)])
    await world.report(first, attempts[0], late | {"time": world.clock() - 120})
    waiting = await rows(world, first, "loss", id_of(second))
    assert (waiting[-1][0], waiting[-1][1]) == (19, 7.0)
    await rollups.roll_up(world.runtime)
    assert await rows(world, first, "loss", id_of(second)) == waiting
