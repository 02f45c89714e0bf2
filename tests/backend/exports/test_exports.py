"""What is kept of a job as files: whole, with units, neutral, and streamed without holding anything."""

import asyncio
import csv
import io
import uuid
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import sqlalchemy as sa
from headrace_server.exports import parquet, service
from headrace_server.rollups import service as rollups

from tests.backend.builders import DEFAULT_SOURCES, activation_body, attempt_body, job_body, record
from tests.backend.exports.streams import Download
from tests.backend.world import World

WHATS = ("reports", "ranks", "series", "sources", "mix", "activations", "attempts", "audit")


async def told(world: World, num_seqs: int = 10, ranks: int = 2) -> tuple[str, dict[str, Any]]:
    """A job with reports of now, some rolled up, an edit and its activation."""
    job = await world.job("=llama\u202e 名")
    attempt = await world.attempt(job, ranks)
    begin = world.clock() - 600
    for first in range(0, num_seqs, 400):
        seqs = range(first, min(first + 400, num_seqs))
        batch = [record(rank, seq, seq, time=begin + seq * 0.01) for rank in range(ranks) for seq in seqs]
        assert (await world.report(job, attempt, *batch))["rejected"] == []
    await world.edit(job, {"web": 1, "code": 1, "legal": 2}, 1, reason="=1+1")
    await world.loader.post(f"{job}/activations", json=activation_body(attempt))
    await rollups.roll_up(world.runtime)
    return job, attempt


async def table(world: World, job: str, what: str, **query: str) -> list[dict[str, str]]:
    reply = await world.operator.get(f"{job}/export", params={"what": what, **query})
    assert reply.status_code == 200, reply.text
    assert reply.headers["content-type"] == "text/csv; charset=utf-8"
    return list(csv.DictReader(io.StringIO(reply.text, newline="")))


async def parquet_of(world: World, job: str, what: str, **query: str) -> pa.Table:
    reply = await world.operator.get(f"{job}/export", params={"what": what, "format": "parquet", **query})
    assert reply.status_code == 200, reply.text
    return pq.read_table(pa.BufferReader(reply.content))


async def test_every_kind_says_the_same_as_csv_and_as_parquet(world: World) -> None:
    job, _ = await told(world)
    for what in WHATS:
        rows, held = await table(world, job, what), await parquet_of(world, job, what)
        assert rows, what
        assert list(rows[0]) == held.schema.names
        assert len(rows) == held.num_rows, what
        for name, field in zip(held.schema.names, held.schema, strict=True):
            numbers = pa.types.is_integer(field.type) or pa.types.is_floating(field.type)
            values = held.column(name).to_pylist()
            if numbers:
                assert [None if row[name] == "" else float(row[name]) for row in rows] == values, (what, name)
            elif name.endswith("_utc"):
                assert field.type == pa.timestamp("us", tz="UTC")


async def test_reports_are_those_that_were_sent(world: World) -> None:
    job, attempt = await told(world, num_seqs=5)
    rows = await table(world, job, "reports")
    assert [(row["rank"], row["seq"]) for row in rows] == [(str(r), str(s)) for r in range(2) for s in range(5)]
    assert {(row["attempt_number"], row["attempt"]) for row in rows} == {("1", attempt["id"])}
    first = rows[0]
    assert (first["wait_p99_ms"], first["rss_bytes"], first["queue_depth_batches"]) == ("1.5", str(1 << 30), "2.0")
    weights = [(row["version"], row["source"], row["weight_ppm"]) for row in await table(world, job, "mix")]
    assert weights[3:] == [("2", "web", "250000"), ("2", "code", "250000"), ("2", "legal", "500000")]
    assert {row["source"]: int(row["weight_ppm"]) for row in await table(world, job, "activations")} == DEFAULT_SOURCES
    assert [row["action"] for row in await table(world, job, "audit")][-1] == "mix.edit"


async def test_no_text_is_a_formula_and_no_name_is_a_header(world: World) -> None:
    """Case A05."""
    job, _ = await told(world)
    mix = await table(world, job, "mix")
    assert {row["reason"] for row in mix} == {"configured weights", "'=1+1"}
    for what in WHATS:
        for row in await table(world, job, what):
            assert not [value for value in row.values() if value[:1] in ("=", "+", "@", "\t", "\r")], what
    reply = await world.operator.get(f"{job}/export", params={"what": "mix"})
    assert reply.headers["content-disposition"] == (
        "attachment; filename=\"_llama__-mix.csv\"; filename*=UTF-8''%3Dllama_%20%E5%90%8D-mix.csv"
    )


async def test_attempts_and_times_narrow_it(world: World) -> None:
    job, first = await told(world, num_seqs=100)
    second = await world.attempt(job, 1, started_at=first["started_at"] + 1)
    await world.report(job, second, record(0, 0, 3, time=world.clock()))
    assert len(await table(world, job, "reports")) == 201
    assert len(await table(world, job, "reports", attempt=second["id"])) == 1
    begin = world.clock() - 600
    middle = await table(world, job, "reports", **{"from": str(begin + 0.099), "to": str(begin + 0.191)})
    assert sorted({int(row["seq"]) for row in middle}) == list(range(10, 20))
    assert await table(world, job, "reports", **{"from": "2100-01-01T00:00:00Z"}) == []
    for wrong in ({"attempt": str(uuid.uuid4())}, {"what": "mix", "attempt": second["id"]}, {"what": "all"}):
        reply = await world.operator.get(f"{job}/export", params={"what": "reports", **wrong})
        assert reply.status_code in (404, 422), wrong
    for wrong in ({"from": "yesterday"}, {"from": "nan"}, {"to": "1e400"}, {"format": "xlsx"}):
        reply = await world.operator.get(f"{job}/export", params={"what": "reports", **wrong})
        assert (reply.status_code, reply.json()["code"]) == (422, "invalid"), wrong


async def test_an_empty_job_is_a_file_without_rows(world: World) -> None:
    job = await world.job()
    assert await table(world, job, "reports") == []
    assert (await parquet_of(world, job, "reports")).num_rows == 0


async def test_pages_and_row_groups_lose_and_repeat_nothing(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(service, "PAGE_ROWS", 7)
    monkeypatch.setattr(parquet, "GROUP_ROWS", 20)
    job, _ = await told(world, num_seqs=50)
    expected = [(rank, seq) for rank in range(2) for seq in range(50)]
    assert [(int(row["rank"]), int(row["seq"])) for row in await table(world, job, "reports")] == expected
    reply = await world.operator.get(f"{job}/export", params={"what": "reports", "format": "parquet"})
    file = pq.ParquetFile(pa.BufferReader(reply.content))
    assert file.metadata.num_row_groups == 5
    held = file.read()
    assert list(zip(held["rank"].to_pylist(), held["seq"].to_pylist(), strict=True)) == expected


def nothing_held(world: World) -> bool:
    return world.runtime.num_exports == 0 and world.runtime.database.engine.pool.checkedout() == 0  # type: ignore[attr-defined]


@pytest.mark.parametrize("file_format", ["csv", "parquet"])
async def test_a_slow_reader_holds_no_connection_and_one_that_leaves_frees_all(
    world: World, monkeypatch: pytest.MonkeyPatch, file_format: str
) -> None:
    monkeypatch.setattr(service, "PAGE_ROWS", 10)
    monkeypatch.setattr(parquet, "GROUP_ROWS", 10)
    job, _ = await told(world, num_seqs=60)
    stuck, resume = asyncio.Event(), asyncio.Event()

    async def wait(number: int) -> None:
        if number == 4:
            stuck.set()
            await resume.wait()

    download = Download(world, f"{job}/export", wait, what="reports", format=file_format)
    running = asyncio.create_task(download.run())
    await stuck.wait()
    assert world.runtime.num_exports == 1
    assert world.runtime.database.engine.pool.checkedout() == 0  # type: ignore[attr-defined]
    assert (await world.report(job, await world.attempt(job), record(0, 0, 1)))["accepted"] == 1
    download.leave()
    resume.set()
    await running
    assert (download.num_chunks, download.whole) == (4, False)
    assert nothing_held(world)


async def test_one_that_is_cancelled_at_shutdown_frees_all(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(service, "PAGE_ROWS", 10)
    job, _ = await told(world, num_seqs=60)
    stuck = asyncio.Event()

    async def wait(number: int) -> None:
        stuck.set()
        await asyncio.Event().wait()

    running = asyncio.create_task(Download(world, f"{job}/export", wait, what="reports").run())
    await stuck.wait()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    async with asyncio.timeout(10):  # a connection goes back in a task of its own
        while not nothing_held(world):
            await asyncio.sleep(0.01)


@pytest.mark.parametrize("file_format", ["csv", "parquet"])
async def test_a_failure_in_the_middle_is_never_a_whole_file(
    world: World, monkeypatch: pytest.MonkeyPatch, file_format: str
) -> None:
    monkeypatch.setattr(service, "PAGE_ROWS", 10)
    monkeypatch.setattr(parquet, "GROUP_ROWS", 10)
    job, _ = await told(world, num_seqs=60)

    async def lose_the_table(number: int) -> None:
        if number == 3:
            async with world.runtime.database.engine.begin() as connection:
                await connection.execute(sa.text("ALTER TABLE rank_report RENAME TO gone"))

    download = Download(world, f"{job}/export", lose_the_table, what="reports", format=file_format)
    with pytest.raises(sa.exc.DBAPIError):
        await download.run()
    assert (download.status, download.whole) == (200, False)
    if file_format == "parquet":
        with pytest.raises(pa.ArrowInvalid, match="magic bytes"):
            pq.read_table(pa.BufferReader(download.body))
    assert nothing_held(world)


async def test_a_failure_before_the_first_byte_is_a_problem(world: World) -> None:
    job, _ = await told(world)
    async with world.runtime.database.engine.begin() as connection:
        await connection.execute(sa.text("ALTER TABLE rank_report RENAME TO gone"))
    reply = await world.operator.get(f"{job}/export", params={"what": "reports"})
    assert (reply.status_code, reply.json()["code"]) == (500, "internal")


async def test_as_many_as_allowed_and_the_next_is_told_when_to_come_back(world: World) -> None:
    job, _ = await told(world)
    release, started = asyncio.Event(), asyncio.Semaphore(0)

    async def wait(number: int) -> None:
        if number == 1:
            started.release()
            await release.wait()

    allowed = world.runtime.settings.max_exports_at_once
    downloads = [Download(world, f"{job}/export", wait, what="mix") for _ in range(allowed)]
    running = [asyncio.create_task(download.run()) for download in downloads]
    for _ in downloads:
        await started.acquire()
    for path in ("export?what=mix", "report.html"):
        refused = await world.operator.get(f"{job}/{path}")
        assert (refused.status_code, refused.json()["code"]) == (429, "too_many_requests")
        assert int(refused.headers["retry-after"]) > 0
    release.set()
    await asyncio.gather(*running)
    assert all(download.whole for download in downloads)
    assert len(await table(world, job, "mix")) == 6


async def test_only_readers_of_the_project_get_a_file(world: World) -> None:
    job, _ = await told(world)
    stranger = await world.caller("read", "operate", project="other")
    for path in ("export?what=audit", "report.html"):
        assert (await stranger.get(f"{job}/{path}")).status_code == 404
        assert (await world.loader.get(f"{job}/{path}")).status_code == 403
    made = await stranger.post("/api/v1/projects/other/jobs", json=job_body("theirs"))
    assert made.status_code == 403, "it has no ingest scope"
    reply = await world.operator.get(f"{job}/export", params={"what": "reports", "attempt": attempt_body()["id"]})
    assert reply.status_code == 404
