"""Reports: counted once, checked one by one, stored whole; old attempts change nothing live."""

import json
import random
import uuid
from typing import Any

import pytest
import sqlalchemy as sa
from headrace_server import models

from tests.backend.builders import DEFAULT_SOURCES, record, source_record
from tests.backend.world import World


async def num_reports(world: World) -> int:
    async with world.runtime.database.read() as session:
        return await session.scalar(sa.select(sa.func.count()).select_from(models.RankReport)) or 0


async def test_a_batch_is_taken_and_a_repeat_is_a_duplicate(world: World) -> None:
    job, attempt = await world.running_job()
    records = [record(rank, seq, 4 + seq) for rank in range(2) for seq in range(5)]
    reply = await world.report(job, attempt, *records)
    assert reply == {
        "accepted": 10,
        "duplicate": 0,
        "expired": 0,
        "rejected": [],
        "mix_version": 1,
        "report_every_s": 2.0,
    }
    for _ in range(2):
        assert (await world.report(job, attempt, *records))["duplicate"] == 10
    mixed = await world.report(job, attempt, record(0, 5, 9), *records[:3])
    assert (mixed["accepted"], mixed["duplicate"]) == (1, 3)
    assert await num_reports(world) == 11


async def test_a_record_twice_in_one_batch_counts_once(world: World) -> None:
    job, attempt = await world.running_job()
    reply = await world.report(job, attempt, record(0, 0), record(0, 0), record(1, 0))
    assert (reply["accepted"], reply["duplicate"]) == (2, 1)
    series = await world.get(f"{job}/series", metric="loss")
    assert series["sources"][0]["points"][0]["mean"] == 3.0
    async with world.runtime.database.read() as session:
        counts = await session.scalars(sa.select(models.SourceProgress.loss_count))
        assert set(counts) == {20}, "two ranks of ten losses, not three"


BAD: list[dict[str, Any]] = [
    {"step": "7"},
    {"step": 1.5},
    {"step": True},
    {"step": -1},
    {"step": None},
    {"seq": 2**63},
    {"rank": -1},
    {"time": float("nan")},
    {"time": float("inf")},
    {"time": "2026-01-01"},
    {"wait_p99_ms": float("-inf")},
    {"wait_p99_ms": 1e300},
    {"wait_share": 1.01},
    {"interval_s": -0.1},
    {"host": "a\u0000b"},
    {"host": "x" * 256},
    {"host": "\ud800"},
    {"mix_version": 0},
    {"mix_revision": "\n"},
    {"sources": None},
    {"sources": {}},
    {"sources": [source_record("nowhere", 1, 10)]},
    {"sources": [source_record("web", 1, 1_000_001)]},
    {"sources": [source_record("web", 1, 10, loss_sum=float("nan"))]},
    {"sources": [source_record("web", 1, 10, file="a\u0000")]},
    {"sources": [source_record("web", 1, 10, ordinal=None)]},
]


async def test_bad_records_are_rejected_alone_each_with_its_reason(world: World) -> None:
    job, attempt = await world.running_job()
    records = [record(0, 0), *({**record(0, 1 + i), **bad} for i, bad in enumerate(BAD)), record(1, 0)]
    body = json.dumps({"attempt": attempt["id"], "records": records})
    reply = await world.loader.post(f"{job}/reports", content=body, headers={"content-type": "application/json"})
    assert reply.status_code == 202, reply.text
    assert reply.json()["accepted"] == 2
    rejected = {item["index"]: item for item in reply.json()["rejected"]}
    for i, bad in enumerate(BAD, start=1):
        assert rejected[i]["code"] == ("unknown_source" if "nowhere" in str(bad) else "invalid"), bad
        assert next(iter(bad)) in rejected[i]["detail"] or "nowhere" in rejected[i]["detail"], bad
    assert len(rejected) == len(BAD)
    assert await num_reports(world) == 2


async def test_records_that_are_not_records_are_rejected_alone(world: World) -> None:
    job, attempt = await world.running_job()
    body = {"attempt": attempt["id"], "records": [None, 1, "x", [], {}, record(0), record(2)]}
    reply = (await world.loader.post(f"{job}/reports", json=body)).json()
    assert [(r["index"], r["code"]) for r in reply["rejected"]] == [
        *((i, "invalid") for i in range(5)),
        (6, "rank_out_of_range"),
    ]
    assert reply["accepted"] == 1


async def test_fields_of_a_newer_loader_are_ignored(world: World) -> None:
    job, attempt = await world.running_job()
    assert (await world.report(job, attempt, record(0, gpu_temp=80)))["accepted"] == 1


async def test_a_wrong_envelope_is_refused_whole(world: World) -> None:
    job, _ = await world.running_job()
    wrong: tuple[Any, ...] = (
        [],
        {},
        {"attempt": "x", "records": []},
        {"attempt": None, "records": []},
        7,
        {"attempt": 1},
    )
    for body in wrong:
        assert (await world.loader.post(f"{job}/reports", json=body)).status_code == 422


async def test_too_many_records_are_refused(world: World) -> None:
    job, attempt = await world.running_job()
    reply = await world.loader.post(f"{job}/reports", json={"attempt": attempt["id"], "records": [{}] * 1001})
    assert (reply.status_code, "1001" in reply.json()["detail"]) == (422, True)


async def test_an_unknown_attempt_is_not_found(world: World) -> None:
    job, _ = await world.running_job()
    other, attempt = await world.job("other"), {"id": str(uuid.uuid4())}
    for path in (job, other):
        body = {"attempt": attempt["id"], "records": [record()]}
        assert (await world.loader.post(f"{path}/reports", json=body)).status_code == 404


async def test_any_order_of_arrival_leaves_the_newest_state(world: World) -> None:
    job, attempt = await world.running_job(1)
    records = [record(0, seq, seq * 5, tokens=100 * seq) for seq in range(20)]
    random.Random(7).shuffle(records)
    for i in range(0, 20, 3):
        await world.report(job, attempt, *records[i : i + 3])
    [rank] = (await world.get(f"{job}/ranks"))["items"]
    assert (rank["step"], rank["sources"][0]["row"]) == (95, 95)
    assert await num_reports(world) == 20


async def test_masked_tokens_are_shown_with_the_last_place(world: World) -> None:
    """A loader that knows nothing of them has none; a place that makes no sense costs its own record only."""
    job, attempt = await world.running_job(1)
    await world.report(job, attempt, record(0, 0))
    [rank] = (await world.get(f"{job}/ranks"))["items"]
    assert (rank["masked_tokens"], rank["masked_at"]) == (0, None)
    place = {"source": "web", "file": "00001.arrow", "row": None}
    await world.report(job, attempt, record(0, 1, 9, masked_tokens=42, masked_at={**place, "later": 1}))
    [rank] = (await world.get(f"{job}/ranks"))["items"]
    assert (rank["masked_tokens"], rank["masked_at"]) == (42, place)
    wrong = [{"masked_tokens": -1}, {"masked_at": {"source": "web"}}, {"masked_at": {**place, "row": "7"}}]
    reply = await world.report(job, attempt, *(record(0, 2 + n, **change) for n, change in enumerate(wrong)))
    assert [(one["index"], one["code"]) for one in reply["rejected"]] == [(n, "invalid") for n in range(3)]


async def test_a_superseded_attempt_is_kept_and_changes_nothing_live(world: World) -> None:
    job, first = await world.running_job()
    await world.report(job, first, record(0, 0, 50), record(1, 0, 50))
    second = await world.attempt(job, resumed_from_step=40)
    await world.report(job, second, record(0, 0, 44), record(1, 0, 44))
    before = await world.get(job)
    reply = await world.report(job, first, record(0, 1, 999), record(1, 1, 999))
    assert reply["accepted"] == 2
    assert await world.get(job) == before
    assert {rank["step"] for rank in (await world.get(f"{job}/ranks"))["items"]} == {44}
    old = await world.get(f"{job}/series", metric="tokens_per_s", attempt=first["id"])
    assert [point["x"] for point in old["points"]] == [50, 999]


async def test_state_totals_and_mix_of_a_running_job(world: World) -> None:
    job, attempt = await world.running_job()
    for seq in range(3):
        await world.report(job, attempt, *(record(rank, seq, 4 + 5 * seq) for rank in range(2)))
    found = await world.get(job)
    assert (found["state"], found["step"], found["tokens"]) == ("running", 14, 15 * 12_800)
    assert found["tokens_per_s"] == pytest.approx(10_000)
    assert found["data_wait_share"] == pytest.approx(0.02)
    assert [(m["target_ppm"], m["realised_ppm"]) for m in found["mix"]] == [(p, p) for p in DEFAULT_SOURCES.values()]
    assert (found["ranks_live"], found["ranks_total"]) == (2, 2)


async def test_the_number_of_statements_does_not_grow_with_the_batch(world: World) -> None:
    job, attempt = await world.running_job(100)
    statements: list[str] = []

    def note(_conn: Any, _cursor: Any, statement: str, *_: Any) -> None:
        statements.append(statement)

    engine = world.runtime.database.engine.sync_engine
    sa.event.listen(engine, "before_cursor_execute", note)

    async def count(*records: dict[str, Any]) -> int:
        statements.clear()
        assert (await world.report(job, attempt, *records))["accepted"] == len(records)
        return len(statements)

    everyone = [[record(rank, seq, rank) for rank in range(100)] for seq in range(4)]
    await count(*everyone[0])  # the version of the mix is applied now, and of no more concern
    # The least of a few: what runs beside the requests has statements of its own now and then.
    large = min([await count(*records) for records in everyone[1:]])
    small = min([await count(record(0, seq, 1)) for seq in range(4, 7)])
    sa.event.remove(engine, "before_cursor_execute", note)
    assert large == small <= 14
