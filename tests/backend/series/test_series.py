"""Series: few points come back whole, many keep their extremes, attempts make one line (case U01)."""

from typing import Any

import pytest
import sqlalchemy as sa
from headrace_server import models

from tests.backend.builders import Body, record, source_record
from tests.backend.world import World


async def insert_reports(world: World, attempt: Body, steps: list[int], **columns: Any) -> None:
    """Reports straight into the table: what is tested here is reading many."""
    async with world.runtime.database.write() as session:
        attempt_id = await session.scalar(sa.select(models.Attempt.id))
        values = {
            "attempt_id": attempt_id,
            "rank": 0,
            "received_at": 0.0,
            "interval_s": 2.0,
            "steps": 1,
            "tokens": 1000,
            "total_tokens": 0,
            "wait_p50_ms": 0.0,
            "wait_p99_ms": 1.0,
            "wait_max_ms": 1.0,
            "wait_share": 0.0,
            "queue_depth": 2.0,
            "rss_bytes": 1,
            "bytes_read": 1,
            "dropped": 0,
            "mix_version": 1,
            "mix_revision": "config:1",
        }
        rows = [{**values, "seq": i, "step": step, "time": 1000.0 + i} for i, step in enumerate(steps)]
        for name, column in columns.items():
            for row, value in zip(rows, column, strict=True):
                row[name] = value
        await session.execute(sa.insert(models.RankReport), rows)


async def test_300_of_300_points_come_back(world: World) -> None:
    job, attempt = await world.running_job(1)
    steps = [1000 * i for i in range(300)]
    await insert_reports(world, attempt, steps, wait_p99_ms=[float(i) for i in range(300)])
    series = await world.get(f"{job}/series", metric="wait_p99_ms")
    assert [point["x"] for point in series["points"]] == steps
    assert [point["last"] for point in series["points"]] == [float(i) for i in range(300)]
    assert (series["unit"], series["x"]) == ("ms", "step")


@pytest.mark.parametrize("axis", ["step", "time"])
async def test_a_spike_among_many_points_survives(world: World, axis: str) -> None:
    job, attempt = await world.running_job(1)
    num = 20_000
    waits = [1.0] * num
    waits[12_345] = 987.0
    waits[777] = 0.25
    await insert_reports(world, attempt, list(range(num)), wait_p99_ms=waits)
    points = (await world.get(f"{job}/series", metric="wait_p99_ms", x=axis, max_points=200))["points"]
    assert len(points) == 200
    assert sum(point["count"] for point in points) == num
    assert max(point["max"] for point in points) == 987.0
    assert min(point["min"] for point in points) == 0.25
    assert [point["x"] for point in points] == sorted(point["x"] for point in points)
    mean = sum(point["mean"] * point["count"] for point in points) / num
    assert mean == pytest.approx(sum(waits) / num)
    assert {point["peak_step"] for point in points if point["max"] == 987.0} == {12_345}
    # Zooming in brings the detail back.
    spiky = next(point for point in points if point["max"] == 987.0)
    zoom = await world.get(f"{job}/series", metric="wait_p99_ms", x=axis, **{"from": spiky["x"] - 99, "to": spiky["x"]})
    assert len(zoom["points"]) == 100
    assert [point["last"] for point in zoom["points"] if point["last"] > 1] == [987.0]


async def test_100_000_points_are_a_figure_in_which_the_spike_shows_and_300_come_back_whole(world: World) -> None:
    """U01: what the dashboard draws. A zoom into the spike's neighbourhood has every step."""
    job, attempt = await world.running_job(1)
    num, spike = 100_000, 66_666
    waits = [1.0] * num
    waits[spike] = 987.0
    # Of the last minutes: what is older than reports are kept may be dropped meanwhile.
    times = [world.clock() - 500.0 + i / 1000 for i in range(num)]
    await insert_reports(world, attempt, list(range(num)), wait_max_ms=waits, time=times)
    whole = await world.get(f"{job}/figures/wait", max_points=600)
    keys = [column["key"] for column in whole["table"]["columns"]]
    [row] = [row for row in whole["table"]["rows"] if row[keys.index("max")] == 987.0]
    assert row[keys.index("trace_step")] == spike
    assert len(whole["table"]["rows"]) == 600
    zoom = await world.get(f"{job}/figures/wait", max_points=600, **{"from": spike - 149, "to": spike + 150})
    assert [row[0] for row in zoom["table"]["rows"]] == list(range(spike - 149, spike + 151)), "300 of 300"


async def test_throughput_is_the_sum_over_ranks_without_a_dip_for_late_reports(world: World) -> None:
    job, attempt = await world.running_job(3)
    for seq in range(3):
        await world.report(job, attempt, *(record(rank, seq, seq, tokens=1000 * (rank + 1)) for rank in range(3)))
    await world.report(job, attempt, record(0, 3, 3))
    points = (await world.get(f"{job}/series", metric="tokens_per_s"))["points"]
    assert [point["last"] for point in points] == [3000.0] * 3
    one = (await world.get(f"{job}/series", metric="tokens_per_s", rank=1))["points"]
    assert [point["last"] for point in one] == [1000.0] * 3
    world.clock.advance(60)
    points = (await world.get(f"{job}/series", metric="tokens_per_s"))["points"]
    assert len(points) == 4, "what never arrived is not waited for"


async def test_metrics_of_ranks_keep_the_worst_rank(world: World) -> None:
    job, attempt = await world.running_job(4)
    await world.report(job, attempt, *(record(rank, wait_p99_ms=float(rank), rss_bytes=rank) for rank in range(4)))
    [point] = (await world.get(f"{job}/series", metric="wait_p99_ms"))["points"]
    assert (point["min"], point["max"], point["mean"], point["count"]) == (0.0, 3.0, 1.5, 4)


def shared(step: int, web: int, code: int) -> list[Body]:
    return [
        source_record("web", step, 700_000, ordinal=web, loss_sum=2.0 * 10),
        source_record("code", step, 300_000, ordinal=code, loss_sum=4.0 * 10, loss_count=20),
        source_record("legal", step, 0, ordinal=0, loss_sum=0.0, loss_count=0),
    ]


async def test_realised_shares_are_differences_of_ordinals(world: World) -> None:
    job, attempt = await world.running_job(1)
    counts = [(70, 30), (140, 60), (190, 110)]
    await world.report(
        job, attempt, *(record(0, i, i, sources=shared(i, web, code)) for i, (web, code) in enumerate(counts))
    )
    sources = (await world.get(f"{job}/series", metric="share"))["sources"]
    assert [source["name"] for source in sources] == ["web", "code", "legal"]
    assert [point["last"] for point in sources[0]["points"]] == pytest.approx([0.7, 0.7, 0.5])
    assert [point["last"] for point in sources[2]["points"]] == [0, 0, 0]
    assert sources[0]["target"] == [0.7] * 3
    epochs = (await world.get(f"{job}/series", metric="epoch"))["sources"]
    assert epochs[0]["points"][-1]["last"] == pytest.approx(190 * 128 / 1_280_000)


async def test_small_batches_are_measured_over_enough_sequences(world: World) -> None:
    job = await world.job("small", global_batch_size=4)
    attempt = await world.attempt(job, 1)
    # 3 of 4 to web, then 1 of 2 steps all web: whole sequences would jump between 50 % and 100 %.
    await world.report(
        job,
        attempt,
        *(record(0, i, i, sources=shared(i, 3 * (i + 1) + i % 2, (i + 1) - i % 2)) for i in range(100)),
    )
    web = (await world.get(f"{job}/series", metric="share"))["sources"][0]["points"]
    settled = [point["last"] for point in web[30:]]
    assert max(settled) - min(settled) < 0.03


async def test_loss_is_weighted_over_ranks_and_skips_what_was_not_observed(world: World) -> None:
    job, attempt = await world.running_job(2)
    two = [source_record("web", 4, 700_000, loss_sum=10.0, loss_count=1)]
    await world.report(job, attempt, record(0, sources=shared(4, 70, 30)), record(1, sources=two))
    web, code, legal = (await world.get(f"{job}/series", metric="loss"))["sources"]
    assert web["points"][0]["mean"] == pytest.approx(30.0 / 11)
    assert code["points"][0]["mean"] == 2.0
    assert legal["points"] == []


async def test_a_later_attempt_wins_from_the_step_it_resumed_at(world: World) -> None:
    job, first = await world.running_job(1)
    for seq in range(6):
        await world.report(job, first, record(0, seq, seq * 10, tokens=1000))
    second = await world.attempt(job, 1, resumed_from_step=30)
    before = await world.get(f"{job}/series", metric="tokens_per_s")
    assert len(before["points"]) == 6, "an attempt that has not reported takes nothing away"
    for seq in range(2):
        await world.report(job, second, record(0, seq, 30 + 10 * seq, tokens=2000))
    line = (await world.get(f"{job}/series", metric="tokens_per_s"))["points"]
    assert [(point["x"], point["last"]) for point in line] == [
        (0, 500),
        (10, 500),
        (20, 500),
        (30, 1000),
        (40, 1000),
    ]
    old = (await world.get(f"{job}/series", metric="tokens_per_s", attempt=first["id"]))["points"]
    assert [point["x"] for point in old] == [0, 10, 20, 30, 40, 50]
    shares = (await world.get(f"{job}/series", metric="share"))["sources"][0]["points"]
    assert [point["x"] for point in shares] == [0, 10, 20, 40]


async def test_tokens_are_an_axis_too_and_exact_over_attempts(world: World) -> None:
    """Also where the second attempt has another number of tokens a step, and in the part that is zoomed into."""
    job, first = await world.running_job(1)
    for seq in range(6):
        await world.report(job, first, record(0, seq, seq * 10, wait_p99_ms=float(seq)))
    second = await world.attempt(job, 1, resumed_from_step=30)
    for seq in range(3):
        total = 30 * 12_800 + (10 * seq + 1) * 25_600
        await world.report(job, second, record(0, seq, 30 + 10 * seq, total_tokens=total, wait_p99_ms=40.0 + seq))
    expected = [12_800, 11 * 12_800, 21 * 12_800, 30 * 12_800 + 25_600, 30 * 12_800 + 11 * 25_600]
    expected.append(30 * 12_800 + 21 * 25_600)
    for metric in ("wait_p99_ms", "loss"):
        series = await world.get(f"{job}/series", metric=metric, x="tokens")
        points = series["points"] or series["sources"][0]["points"]
        assert [point["x"] for point in points] == pytest.approx(expected)
        assert [point["step"] for point in points] == [0, 10, 20, 30, 40, 50]
    zoom = await world.get(
        f"{job}/series", metric="wait_p99_ms", x="tokens", **{"from": expected[2], "to": expected[4]}
    )
    assert [point["step"] for point in zoom["points"]] == [20, 30, 40]
    old = await world.get(f"{job}/series", metric="wait_p99_ms", x="tokens", attempt=first["id"])
    assert [point["x"] for point in old["points"]] == pytest.approx([(10 * i + 1) * 12_800 for i in range(6)])


async def test_an_empty_job_has_empty_series(world: World) -> None:
    job = await world.job()
    assert (await world.get(f"{job}/series", metric="tokens_per_s"))["points"] == []
    assert [s["points"] for s in (await world.get(f"{job}/series", metric="share"))["sources"]] == [[], [], []]


async def test_wrong_questions_are_refused(world: World) -> None:
    job = await world.job()
    wrong: list[dict[str, str | int]] = [
        {},
        {"metric": "nothing"},
        {"metric": "loss", "max_points": 2001},
        {"metric": "loss", "max_points": 0},
        {"metric": "loss", "from": "nan"},
        {"metric": "loss", "to": "inf"},
        {"metric": "loss", "x": "rank"},
        {"metric": "loss", "rank": 0},
        {"metric": "queue_depth", "rank": -1},
    ]
    for query in wrong:
        assert (await world.viewer.get(f"{job}/series", params=query)).status_code == 422, query
    unknown = {"metric": "loss", "attempt": "00000000-0000-0000-0000-000000000000"}
    assert (await world.viewer.get(f"{job}/series", params=unknown)).status_code == 404


async def test_a_report_between_steps_says_nothing_of_waits(world: World) -> None:
    """A rank in a long step reports that it lives, with zeros for waits; they must not read as an idle loader."""
    job, attempt = await world.running_job(world_size=1)
    await world.report(job, attempt, record(0, seq=0, step=10, wait_p99_ms=40.0))
    await world.report(job, attempt, record(0, seq=1, step=10, steps=0, wait_p99_ms=0.0))
    await world.report(job, attempt, record(0, seq=2, step=11, wait_p99_ms=50.0))
    world.clock.advance(30)
    series = await world.get(f"{job}/series", metric="wait_p99_ms")
    assert [(point["min"], point["max"]) for point in series["points"]] == [(40.0, 40.0), (50.0, 50.0)]
