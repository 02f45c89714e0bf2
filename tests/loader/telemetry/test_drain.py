"""One process a node sends each record until it is acknowledged, whatever the service does in between."""

import json
import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import pytest
from headrace.telemetry.client import Client, Endpoint
from headrace.telemetry.description import Registration
from headrace.telemetry.drain import Drain
from headrace.telemetry.failures import Notices
from headrace.telemetry.registrar import Registrar
from headrace.telemetry.spool import Spool
from headrace.telemetry.spool_writer import SpoolWriter

from tests.loader.telemetry.processes import SPAWN, process
from tests.loader.telemetry.ranks import spool, start, wait_until
from tests.loader.telemetry.services import Behaviour, Reply, Request, Service


@pytest.fixture
def service() -> Iterator[Service]:
    running = Service()
    yield running
    running.close()


def _drain(held: Spool, made: Registration, url: str, rank: int = 0, **extra: Any) -> Drain:
    client = Client(Endpoint(url, "hr_s3cret"))
    notices = Notices("hr_s3cret")
    on_mix_version = extra.get("on_mix_version")
    return Drain(
        held, client, Registrar(client, "default", held, made), made, rank, notices, on_mix_version=on_mix_version
    )


@contextmanager
def _running(drain: Drain) -> Iterator[Drain]:
    drain.start(0.0)
    try:
        yield drain
    finally:
        drain.finish(time.monotonic())
        drain.join(time.monotonic() + 2)


def _write(held: Spool, made: Registration, count: int, rank: int = 0, pad: int = 0) -> SpoolWriter:
    writer = SpoolWriter(held, made, rank)
    for seq in range(count):
        writer.append(json.dumps({"rank": rank, "seq": seq, "pad": "x" * pad}).encode())
    return writer


def _seqs(service: Service, made: Registration, rank: int = 0) -> list[int]:
    return [r["seq"] for attempt, r in service.records if attempt == made.attempt_id and r["rank"] == rank]


def _on(ending: str, *replies: Reply | None) -> Behaviour:
    """Answer requests whose path ends so with these replies in turn, then behave."""
    left = list(replies)

    def misbehave(request: Request) -> Reply | None:
        return left.pop(0) if request.path.endswith(ending) and left else None

    return misbehave


def test_sends_records_soon_after_they_are_written_and_registers_first(tmp_path: Path, service: Service) -> None:
    held, made = spool(tmp_path), start()
    with _running(_drain(held, made, service.url)):
        writer = _write(held, made, 3)
        wait_until(lambda: len(service.records) == 3)
        writer.append(b'{"rank":0,"seq":3}')
        wait_until(lambda: len(service.records) == 4)
    assert _seqs(service, made) == [0, 1, 2, 3]
    assert [r.path for r in service.requests][:2] == [
        "/api/v1/projects/default/jobs",
        f"/api/v1/jobs/{service.requests[1].path.split('/')[4]}/attempts",
    ]
    assert service.requests[0].body == made.job
    assert service.requests[1].body == made.attempt
    assert service.sent("POST", "/reports")[0].headers["content-encoding"] == "gzip"
    writer.close()


@pytest.mark.parametrize(
    "fault",
    [
        Reply(500, {}),
        Reply(404, {"code": "not_found"}),
        Reply(404, b"<html>"),
        Reply(503, {}, {"Retry-After": "1"}),
        Reply(202, {"accepted": 1}),
        Reply(202, {"accepted": True, "duplicate": 0, "rejected": []}),
        Reply(200, b"<html>"),
        Reply(302, b"", {"Location": "/"}),
        Reply(204, b""),
    ],
    ids=lambda reply: f"{reply.status}",
)
def test_a_fault_costs_nothing_but_time(tmp_path: Path, service: Service, fault: Reply) -> None:
    held, made = spool(tmp_path), start()
    service.misbehave = _on("/reports", fault, fault)
    writer = _write(held, made, 5)
    with _running(_drain(held, made, service.url)):
        wait_until(lambda: len(service.records) >= 5)
    assert _seqs(service, made) == [0, 1, 2, 3, 4]
    assert len(service.sent("POST", "/reports")) == 3
    writer.close()


def test_a_refused_key_is_one_warning_and_a_slow_retry(
    tmp_path: Path, service: Service, caplog: pytest.LogCaptureFixture
) -> None:
    held, made = spool(tmp_path), start()
    service.misbehave = lambda request: Reply(401, {"detail": request.headers["authorization"]})
    writer = _write(held, made, 1)
    with _running(_drain(held, made, service.url)):
        wait_until(lambda: caplog.records)
        time.sleep(1.5)
    assert len(service.requests) == 1
    [record] = caplog.records
    assert "HEADRACE_TOKEN" in record.getMessage()
    assert "s3cret" not in caplog.text
    writer.close()


def test_retry_after_is_honoured(tmp_path: Path, service: Service) -> None:
    held, made = spool(tmp_path), start()
    times: list[float] = []

    def misbehave(request: Request) -> Reply | None:
        if request.path.endswith("/reports"):
            times.append(time.monotonic())
            return Reply(429, {}, {"Retry-After": "2"}) if len(times) == 1 else None
        return None

    service.misbehave = misbehave
    writer = _write(held, made, 1)
    with _running(_drain(held, made, service.url)):
        wait_until(lambda: service.records)
    assert times[1] - times[0] >= 1.95
    writer.close()


def test_a_batch_is_at_most_1000_records_and_1_mib(tmp_path: Path, service: Service) -> None:
    held, made = spool(tmp_path), start()
    _write(held, made, 1500, rank=0).close()
    _write(held, made, 1500, rank=1, pad=1000).close()
    with _running(_drain(held, made, service.url)):
        wait_until(lambda: len(service.records) == 3000, 30)
    batches = [request.body for request in service.sent("POST", "/reports")]
    assert max(len(batch["records"]) for batch in batches) <= 1000
    assert max(len(json.dumps(batch, separators=(",", ":"))) for batch in batches) <= 1 << 20
    assert _seqs(service, made, 1) == list(range(1500))


def test_too_large_a_batch_is_halved_until_it_goes_through(tmp_path: Path, service: Service) -> None:
    held, made = spool(tmp_path), start()

    def misbehave(request: Request) -> Reply | None:
        large = request.path.endswith("/reports") and len(request.body["records"]) > 30
        return Reply(413, b"<html>too large</html>") if large else None

    service.misbehave = misbehave
    _write(held, made, 200).close()
    with _running(_drain(held, made, service.url)) as drain:
        wait_until(lambda: len(service.records) == 200, 30)
    assert _seqs(service, made) == list(range(200))
    assert drain.lost == 0


@pytest.mark.parametrize("status", [400, 413, 415, 422])
def test_what_can_never_succeed_is_counted_and_set_aside_and_blocks_nothing(
    tmp_path: Path, service: Service, status: int, caplog: pytest.LogCaptureFixture
) -> None:
    held, made = spool(tmp_path), start()

    def misbehave(request: Request) -> Reply | None:
        poisoned = request.path.endswith("/reports") and any(r["seq"] == 0 for r in request.body["records"])
        return Reply(status, {"code": "invalid", "detail": "never"}) if poisoned else None

    service.misbehave = misbehave
    writer = _write(held, made, 1)
    with _running(_drain(held, made, service.url)) as drain:
        wait_until(lambda: drain.lost)
        writer.append(b'{"rank":0,"seq":1}')
        wait_until(lambda: service.records)
        writer.close()
        wait_until(lambda: not held.segments(made.attempt_id))
    assert _seqs(service, made) == [1]
    assert drain.lost == 1
    aside = (held.path / made.attempt_id / "refused.aside").read_text()
    assert json.loads(aside) == {"rank": 0, "seq": 0, "pad": ""}
    assert "never" in caplog.text
    assert len([r for r in caplog.records if "set aside" in r.getMessage()]) == 1


def test_single_records_that_the_service_rejects_are_counted_and_named_once(
    tmp_path: Path, service: Service, caplog: pytest.LogCaptureFixture
) -> None:
    held, made = spool(tmp_path), start()
    rejected = [{"index": 0, "code": "unknown_source", "detail": "hr_s3cret 'weeb'"}]
    receipt = {"accepted": 1, "duplicate": 0, "rejected": rejected, "mix_version": 1, "report_every_s": 0.5}
    service.misbehave = _on("/reports", Reply(202, receipt), Reply(202, receipt))
    writer = _write(held, made, 2)
    with _running(_drain(held, made, service.url)) as drain:
        wait_until(lambda: drain.lost == 1)
        writer.append(b'{"rank":0,"seq":2}')
        wait_until(lambda: drain.lost == 2)
    assert [record.getMessage() for record in caplog.records if "weeb" in record.getMessage()] == [
        "the control plane rejects reports, first: unknown_source: [token] 'weeb'"
    ]
    writer.close()


def test_a_service_that_lost_its_database_is_told_everything_again(tmp_path: Path, service: Service) -> None:
    held, made = spool(tmp_path), start()
    writer = _write(held, made, 1)
    with _running(_drain(held, made, service.url)):
        wait_until(lambda: service.records)
        service.misbehave = _on("/reports", Reply(404, {"code": "not_found", "detail": "no such job"}))
        writer.append(b'{"rank":0,"seq":1}')
        wait_until(lambda: len(service.records) == 2)
    assert len(service.sent("POST", "/jobs")) == 2
    assert len(service.sent("POST", "/attempts")) == 2
    writer.close()


def test_what_earlier_starts_left_is_sent_once_with_their_registration_and_their_end(
    tmp_path: Path, service: Service
) -> None:
    held, first, second = spool(tmp_path), start(started_at=1.0), start(started_at=2.0)
    _write(held, first, 40).close()
    held.store(first.attempt_id, "ended", {"state": "failed", "reason": "boom"})
    _write(held, second, 3)._lock.release()  # as a crash leaves it: open, and nobody alive
    made = start()
    writer = _write(held, made, 2)
    with _running(_drain(held, made, service.url)):
        wait_until(lambda: len(list(held.path.glob("*-*"))) == 1)
    assert sorted(_seqs(service, first)) == list(range(40))
    assert _seqs(service, second) == [0, 1, 2]
    assert _seqs(service, made) == [0, 1]
    [end] = [request for request in service.requests if request.method == "PATCH"]
    assert end.path.endswith(first.attempt_id)
    assert end.body == {"state": "failed", "reason": "boom"}
    assert service.sent("POST", "/jobs")[-1].body == made.job
    before = len(service.records)
    writer.close()
    with _running(_drain(held, start(), service.url)):
        wait_until(lambda: not held.segments(made.attempt_id))
    assert len(service.records) == before + 2  # of `made`, whose position died with its drain


def test_an_earlier_start_that_the_service_refuses_blocks_nobody(tmp_path: Path, service: Service) -> None:
    held, earlier, made = spool(tmp_path), start(started_at=1.0), start()
    _write(held, earlier, 2).close()

    def misbehave(request: Request) -> Reply | None:
        refused = request.path.endswith("/attempts") and request.body["id"] == earlier.attempt_id
        return Reply(422, {"detail": "too old"}) if refused else None

    service.misbehave = misbehave
    writer = _write(held, made, 1)
    with _running(_drain(held, made, service.url)):
        wait_until(lambda: service.sent("POST", "/attempts")[1:])
        writer.append(b'{"rank":0,"seq":1}')
        wait_until(lambda: len(service.records) == 2, 5)
    assert len(held.segments(earlier.attempt_id)) == 1
    writer.close()


def test_the_pace_the_service_asks_for_is_told_to_every_rank_and_the_version_to_the_leader(
    tmp_path: Path, service: Service
) -> None:
    held, made = spool(tmp_path), start()
    service.report_every_s, service.mix["version"] = 1e9, 17
    versions: list[int] = []
    writer = _write(held, made, 1)
    with _running(_drain(held, made, service.url, on_mix_version=versions.append)):
        wait_until(lambda: held.pace_s() == 60.0 and versions == [17])
    writer.close()


def test_finish_waits_until_this_rank_is_sent_and_no_longer(tmp_path: Path, service: Service) -> None:
    held, made = spool(tmp_path), start()
    drain = _drain(held, made, service.url)
    drain.start(60.0)
    _write(held, made, 5).close()
    begun = time.monotonic()
    drain.finish(begun + 3)
    drain.join(begun + 3)
    assert time.monotonic() - begun < 2.5
    assert _seqs(service, made) == [0, 1, 2, 3, 4]
    assert held.segments(made.attempt_id) == []


def _drain_until_killed(root: Path, made: Registration, url: str, rank: int, tell: Connection) -> None:
    logging.disable()
    held = spool(root)
    drain = _drain(held, made, url, rank)
    drain.start(0.0)
    writer = SpoolWriter(held, made, rank)
    for seq in range(10_000):
        writer.append(b'{"rank":%d,"seq":%d}' % (rank, seq))
        if seq == 20:
            tell.send(True)
        time.sleep(0.02)


def test_one_of_a_nodes_ranks_sends_and_another_takes_over_when_it_is_killed(tmp_path: Path, service: Service) -> None:
    made = start()
    here, there = SPAWN.Pipe()
    first = process(_drain_until_killed, tmp_path, made, service.url, 0, there)
    here.recv()
    wait_until(lambda: _seqs(service, made, 0))
    second = process(_drain_until_killed, tmp_path, made, service.url, 1, there)
    here.recv()
    wait_until(lambda: _seqs(service, made, 1))
    assert len(service.sent("POST", "/attempts")) == 1  # the second rank sent nothing itself
    first.kill()
    first.join()
    left = len(_seqs(service, made, 1))
    wait_until(lambda: len(_seqs(service, made, 1)) > left + 50)
    assert len(service.sent("POST", "/attempts")) == 2
    second.kill()
    second.join()
    assert set(range(20)) <= set(_seqs(service, made, 0))
