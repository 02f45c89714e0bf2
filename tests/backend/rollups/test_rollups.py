"""Rollups: equal to what the reports say, whatever arrives late, and enough once the reports are gone."""

import asyncio
from typing import Any

import pytest
import sqlalchemy as sa
from headrace_server import models
from headrace_server.rollups import repository, retention, service
from headrace_server.series import service as series

from tests.backend.builders import Body, record, source_record
from tests.backend.world import World

METRICS = ("tokens_per_s", "wait_p50_ms", "wait_p99_ms", "wait_max_ms", "wait_share", "queue_depth", "rss_bytes")
NUM_ROUNDS = 90
BEGIN = 1_700_000_040.0  # the beginning of a minute


async def num_rows(world: World, table: Any) -> int:
    async with world.runtime.database.read() as session:
        return await session.scalar(sa.select(sa.func.count()).select_from(table)) or 0


def rounds(begin: float, first: int = 0, num: int = NUM_ROUNDS) -> list[Body]:
    """Rounds of two ranks, 2 s apart and half a second from each other, with one spike and one sign of life."""
    made = []
    for seq in range(first, first + num):
        for rank in range(2):
            idle = seq == 10
            step = 10 * seq if not idle else 10 * (seq - 1)
            made.append(
                record(
                    rank,
                    seq,
                    step,
                    time=begin + 2 * seq + 0.5 * rank,
                    steps=0 if idle else 5,
                    tokens=1000 * (rank + 1) if seq != 20 else 0,
                    wait_p99_ms=987.0 if (seq, rank) == (44, 1) else float(seq % 7),
                    queue_depth=seq % 3 + rank,
                    rss_bytes=1000 + seq,
                    sources=[
                        source_record(
                            name, step, ppm, loss_sum=10.0 * (seq + 1), ordinal=(step + 1) * 100 * ppm // 1_000_000
                        )
                        for name, ppm in (("web", 500_000), ("code", 300_000), ("legal", 200_000))
                    ],
                )
            )
    return made


async def filled(world: World) -> tuple[str, Body]:
    """A job whose clock stands five minutes after its first report, all reported and nothing rolled up."""
    world.clock.now = BEGIN + 300
    job, attempt = await world.running_job()
    await world.report(job, attempt, *rounds(BEGIN))
    return job, attempt


async def by_minutes(world: World, job: str, monkeypatch: pytest.MonkeyPatch, **query: Any) -> Any:
    with monkeypatch.context() as patched:
        patched.setattr(series, "MAX_REPORTS", 0)
        return await world.get(f"{job}/series", **query)


async def test_minutes_say_what_the_reports_say(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    job, _ = await filled(world)
    assert await service.roll_up(world.runtime) > 0
    assert await num_rows(world, models.RollupDue) == 0
    for metric in METRICS:
        for rank in ({}, {"rank": 1}):
            whole = await world.get(f"{job}/series", metric=metric, max_points=1, **rank)
            rolled = await by_minutes(world, job, monkeypatch, metric=metric, **rank)
            points, [one] = rolled["points"], whole["points"]
            assert len(points) == 3, (metric, rank)
            assert max(point["max"] for point in points) == pytest.approx(one["max"]), metric
            assert min(point["min"] for point in points) == pytest.approx(one["min"]), metric
            assert points[-1]["last"] == pytest.approx(one["last"]), metric
            assert sum(point["count"] for point in points) == one["count"], metric
            mean = sum(point["mean"] * point["count"] for point in points) / one["count"]
            assert mean == pytest.approx(one["mean"]), metric
            assert points[-1]["x"] == one["x"]
    for metric in ("share", "loss", "epoch"):
        whole = await world.get(f"{job}/series", metric=metric, max_points=1)
        rolled = await by_minutes(world, job, monkeypatch, metric=metric)
        for one, many in zip(whole["sources"], rolled["sources"], strict=True):
            assert len(many["points"]) == 3
            assert many["points"][-1]["last"] == pytest.approx(one["points"][0]["last"]), metric
            if metric == "loss":
                assert min(p["min"] for p in many["points"]) == pytest.approx(one["points"][0]["min"])
                assert max(p["max"] for p in many["points"]) == pytest.approx(one["points"][0]["max"])


async def test_a_minute_is_rolled_up_once_it_is_over_and_again_for_late_reports(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    job, attempt = await filled(world)
    world.clock.now = BEGIN + 60 + service.SETTLE_S - 1
    assert await service.roll_up(world.runtime) == 1, "only the minute before, which the first reports reach into"
    assert await num_rows(world, models.JobRollup) == 0
    world.clock.now = BEGIN + 300
    assert await service.roll_up(world.runtime) == 4
    assert await num_rows(world, models.JobRollup) == 3
    assert await service.roll_up(world.runtime) == 0
    late = record(1, NUM_ROUNDS, 300, time=BEGIN + 70, wait_p99_ms=5000.0)
    await world.report(job, attempt, late)
    assert await service.roll_up(world.runtime) == 1
    points = (await by_minutes(world, job, monkeypatch, metric="wait_p99_ms"))["points"]
    assert [point["max"] for point in points] == [6.0, 5000.0, 6.0]
    assert sum(point["count"] for point in points) == 2 * NUM_ROUNDS - 2 + 1


async def test_reports_are_read_when_a_range_has_few(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    job, _ = await filled(world)
    await service.roll_up(world.runtime)
    monkeypatch.setattr(series, "MAX_REPORTS", 100)
    for axis, low, high in (("step", 400, 500), ("time", BEGIN + 80, BEGIN + 101)):
        bounds = {"from": low, "to": high}
        assert len((await world.get(f"{job}/series", metric="wait_p99_ms", x=axis, **bounds))["points"]) == 11
        assert len((await world.get(f"{job}/series", metric="wait_p99_ms", x=axis))["points"]) == 3
    monkeypatch.setattr(series, "MAX_REPORTS", 89)
    assert len((await world.get(f"{job}/series", metric="wait_p99_ms", rank=0))["points"]) == 3
    monkeypatch.setattr(series, "MAX_REPORTS", 90)
    assert len((await world.get(f"{job}/series", metric="wait_p99_ms", rank=0))["points"]) == 89


async def stopped_after_the_first_minute(world: World) -> str:
    """The job of ``filled``, an hour on, whose first minute alone was rolled up."""
    job, _ = await filled(world)
    world.clock.now = BEGIN + 60 + service.SETTLE_S
    await service.roll_up(world.runtime)
    assert await num_rows(world, models.JobRollup) == 1
    world.clock.now = BEGIN + 3600
    return job


@pytest.mark.parametrize("axis", ["step", "tokens", "time"])
async def test_a_part_that_waits_to_be_rolled_up_is_read_however_old(world: World, axis: str) -> None:
    job = await stopped_after_the_first_minute(world)
    whole = await world.get(f"{job}/series", metric="wait_p99_ms", x=axis)
    xs = [point["x"] for point in whole["points"]]
    assert len(xs) == NUM_ROUNDS - 1
    # From within the minute that is rolled up into those that aren't, and within those alone.
    for first, last in ((5, 85), (50, 80)):
        zoom = await world.get(f"{job}/series", metric="wait_p99_ms", x=axis, **{"from": xs[first], "to": xs[last]})
        assert zoom["points"] == whole["points"][first : last + 1]


async def test_minutes_are_the_same_while_some_wait_to_be_rolled_up(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = await stopped_after_the_first_minute(world)
    asked = [{"metric": metric, **rank} for metric in METRICS for rank in ({}, {"rank": 1})]
    asked += [{"metric": metric} for metric in ("share", "loss", "epoch")]
    before = [await by_minutes(world, job, monkeypatch, **query) for query in asked]
    assert len(before[0]["points"]) == 3
    assert len(before[-1]["sources"][0]["points"]) == 3
    assert await service.roll_up(world.runtime) > 0
    assert [await by_minutes(world, job, monkeypatch, **query) for query in asked] == before


async def test_dropped_reports_live_on_as_minutes(world: World) -> None:
    job, attempt = await filled(world)
    await service.roll_up(world.runtime)
    world.clock.advance(world.runtime.settings.keep_reports_s + 2 * retention.DAY_S)
    now = world.clock.now
    await world.report(job, attempt, *rounds(now - 2 * NUM_ROUNDS, NUM_ROUNDS, 10))
    await service.housekeeping(world.runtime)
    assert await num_rows(world, models.RankReport) == 20
    assert await num_rows(world, models.SourceProgress) >= 10 * 3
    points = (await world.get(f"{job}/series", metric="wait_p99_ms"))["points"]
    assert [point["max"] for point in points] == [6.0, 987.0, 6.0]
    figure = await world.get(f"{job}/figures/mix")
    assert len(figure["table"]["rows"]) == 3
    world.clock.advance(world.runtime.settings.keep_rank_rollups_s)
    await service.housekeeping(world.runtime)
    assert await num_rows(world, models.RankRollup) == 0
    assert await num_rows(world, models.JobRollup) == 3


async def test_nothing_is_dropped_that_is_not_rolled_up_yet(world: World) -> None:
    await filled(world)
    world.clock.advance(world.runtime.settings.keep_reports_s + 2 * retention.DAY_S)
    await service.housekeeping(world.runtime)
    assert await num_rows(world, models.RankReport) == 2 * NUM_ROUNDS
    await service.roll_up(world.runtime)
    await service.housekeeping(world.runtime)
    assert await num_rows(world, models.RankReport) == 0
    assert await num_rows(world, models.JobRollup) == 3


async def test_expired_reports_count_as_delivered_and_are_not_kept(world: World) -> None:
    job, attempt = await world.running_job()
    old = world.clock.now - world.runtime.settings.keep_reports_s - 1
    reply = await world.report(job, attempt, record(0, 0, time=old), record(1, 0, time=world.clock.now))
    assert (reply["accepted"], reply["duplicate"], reply["expired"], reply["rejected"]) == (1, 0, 1, [])
    assert await num_rows(world, models.RankReport) == 1


async def test_one_keeper_at_a_time(world: World) -> None:
    """While one transaction leads, nobody else rolls up; on SQLite it can't even begin."""
    if world.runtime.settings.is_sqlite:
        async with world.runtime.database.write() as session:
            assert await repository.lead(session)
        return
    await filled(world)
    async with world.runtime.database.write() as session:
        assert await repository.lead(session)
        assert await service.roll_up(world.runtime) == 0
        await service.housekeeping(world.runtime)
    assert await num_rows(world, models.JobRollup) == 0
    assert await service.roll_up(world.runtime) > 0


async def test_a_batch_that_commits_while_its_minute_is_rolled_up_is_not_lost(world: World) -> None:
    if world.runtime.settings.is_sqlite:
        return  # writers are one after another
    _job, _attempt = await filled(world)
    async with world.runtime.database.write() as session:
        # A writer that has not committed yet: neither its report nor its note is seen.
        attempt_id = await session.scalar(sa.select(models.Attempt.id))
        assert attempt_id is not None
        await repository.add_due(session, attempt_id, [int(BEGIN)])
        assert await service.roll_up(world.runtime) > 0
    assert await num_rows(world, models.RollupDue) == 1
    assert await service.roll_up(world.runtime) == 1


async def test_postgres_keeps_days_in_partitions(world: World) -> None:
    if world.runtime.settings.is_sqlite:
        return
    job, attempt = await filled(world)
    day = int(BEGIN // retention.DAY_S) * retention.DAY_S
    await world.report(job, attempt, record(0, 500, 9000, time=BEGIN + 40 * retention.DAY_S))

    async def where() -> dict[str, int]:
        query = sa.text("SELECT CAST(tableoid AS regclass)::text AS day, count(*) AS num FROM rank_report GROUP BY 1")
        async with world.runtime.database.read() as session:
            return {row.day: row.num for row in await session.execute(query)}

    assert await where() == {"rank_report_default": 2 * NUM_ROUNDS + 1}
    await service.housekeeping(world.runtime)
    assert await where() == {retention.partition_of("rank_report", day): 2 * NUM_ROUNDS, "rank_report_default": 1}
    # Reports go straight into the day, and a repeat is still known.
    again = await world.report(job, attempt, *rounds(BEGIN, NUM_ROUNDS - 1, 2))
    assert (again["accepted"], again["duplicate"]) == (2, 2)
    assert (await where())[retention.partition_of("rank_report", day)] == 2 * NUM_ROUNDS + 2
    async with world.runtime.database.read() as session:
        days = await retention.partitions(session, "rank_report")
        assert sorted(days) == [day, day + retention.DAY_S, day + 2 * retention.DAY_S]
    await service.housekeeping(world.runtime)


async def test_reports_that_come_while_their_day_is_made_go_into_it(world: World) -> None:
    if world.runtime.settings.is_sqlite:
        return
    job, attempt = await filled(world)
    day = int(BEGIN // retention.DAY_S) * retention.DAY_S
    async with world.runtime.database.write() as session:
        await retention.add_partition(session, "rank_report", day)
        late = asyncio.create_task(world.report(job, attempt, record(0, 500, 9000, time=BEGIN + 200)))
        await asyncio.sleep(0.3)
        assert not late.done()
    assert (await late)["accepted"] == 1
    async with world.runtime.database.read() as session:
        held = await session.scalar(sa.text(f"SELECT count(*) FROM {retention.partition_of('rank_report', day)}"))
        assert held == 2 * NUM_ROUNDS + 1


async def test_who_reads_while_a_day_is_made_finds_every_report(world: World) -> None:
    if world.runtime.settings.is_sqlite:
        return
    await filled(world)
    day = int(BEGIN // retention.DAY_S) * retention.DAY_S
    async with world.runtime.database.write() as session:
        await retention.add_partition(session, "rank_report", day)
        reader = asyncio.create_task(num_rows(world, models.RankReport))
        await asyncio.sleep(0.3)
        assert not reader.done()
    assert await reader == 2 * NUM_ROUNDS


def test_stretches_are_unbroken_and_short() -> None:
    assert list(repository.stretches([])) == []
    pairs = [(1, 60), (1, 120), (1, 240), (2, 300), (2, 360)]
    assert list(repository.stretches(pairs)) == [(1, 60, 180), (1, 240, 300), (2, 300, 420)]
    hour = [(1, 60 * i) for i in range(60)]
    assert list(repository.stretches(hour)) == [(1, 0, 1800), (1, 1800, 3600)]
