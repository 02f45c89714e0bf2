"""P7: whatever the service does, a call takes microseconds and raises nothing, and what was reported arrives once."""

import logging
import math
import os
import shutil
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from pathlib import Path

import pytest
from headrace.telemetry import reporter as reporter_module
from headrace.telemetry.connect import connect
from headrace.telemetry.description import RankIdentity
from headrace.telemetry.port import Activated, Telemetry

from tests.loader.telemetry import services
from tests.loader.telemetry.faults import black_hole, certificate_error
from tests.loader.telemetry.ranks import DESCRIPTION, SOURCES, identity, sample, wait_until
from tests.loader.telemetry.services import Reply, Request, Service, raw_service

TOKEN = "hr_s3cret"

SEND_S = reporter_module._SEND_S
"how long an end tries to send what is left"


@pytest.fixture(autouse=True)
def _no_hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a busy machine a second is short; how short it is, is one test's business."""
    monkeypatch.setattr(reporter_module, "_SEND_S", 5.0)


@pytest.fixture
def service() -> Iterator[Service]:
    running = Service()
    yield running
    running.close()


def _connect(cache: Path, url: str, who: RankIdentity | None = None, *, report_every_s: float = 0.3) -> Telemetry:
    telemetry = connect(
        who or identity(), DESCRIPTION, job="test", url=url, token=TOKEN, cache=cache, report_every_s=report_every_s
    )
    assert telemetry is not None
    return telemetry


def _train(telemetry: Telemetry, steps: range, *, step_s: float = 0.01) -> list[float]:
    """Seconds that each step's calls took."""
    took = []
    for step in steps:
        begun = time.perf_counter()
        telemetry.step_ended(sample(step))
        telemetry.observe(step, {"web": (3.5, 7), "code": (1.5, 3)})
        telemetry.latest_proposal()
        if step % 10 == 0:
            telemetry.activated(Activated(f"service:{step + 2}", step, SOURCES, 0))
        took.append(time.perf_counter() - begun)
        time.sleep(step_s)
    return took


def _finish(telemetry: Telemetry, failed: str | None = None) -> float:
    begun = time.monotonic()
    telemetry.finish(failed=failed)
    return time.monotonic() - begun


def _own_threads() -> list[str]:
    return [thread.name for thread in threading.enumerate() if thread.name.startswith("headrace-")]


FAULTS = {
    "500": Reply(500, {}),
    "404": Reply(404, b"<html>"),
    "413": Reply(413, b"<html>"),
    "429": Reply(429, {}, {"Retry-After": "3600"}),
    "401": Reply(401, {}),
    "html": Reply(200, b"<html>"),
    "list": Reply(200, []),
    "loop": Reply(302, b"", {"Location": "/api/v1/projects/default/jobs"}),
    "id": Reply(200, {"id": "../../../etc"}),
}
TALKS = [services.silence, services.drip_headers, services.drip_body, services.flood, services.bomb, services.garbage]
TALKS += [services.continue_for_ever, services.reset]


@pytest.fixture
def short_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """Half a second to send what is left, so that many faults can be tried."""
    monkeypatch.setattr(reporter_module, "_SEND_S", 0.5)


def _check_harmless(cache: Path, url: str) -> None:
    telemetry = _connect(cache, url)
    took = sorted(_train(telemetry, range(60)))
    assert took[len(took) // 2] < 200e-6
    assert took[-1] < 0.5  # a busy machine may deschedule a thread; nothing waits for a service
    assert telemetry.latest_proposal() is None
    assert _finish(telemetry) < 5
    assert _finish(telemetry) < 0.1
    wait_until(lambda: not _own_threads(), 2.5)
    kept = [path for path in cache.rglob("*.jsonl") if path.stat().st_size]
    assert kept  # for the next start


@pytest.mark.usefixtures("short_end")
@pytest.mark.parametrize("fault", FAULTS)
def test_a_wrong_service_changes_nothing_for_training(tmp_path: Path, service: Service, fault: str) -> None:
    service.misbehave = lambda request: FAULTS[fault]
    _check_harmless(tmp_path, service.url)
    assert len(service.requests) < 40


@pytest.mark.usefixtures("short_end")
@pytest.mark.parametrize("talk", TALKS, ids=lambda talk: talk.__name__)
def test_a_slow_or_hostile_service_changes_nothing_for_training(
    tmp_path: Path, talk: Callable[[socket.socket], None]
) -> None:
    with raw_service(talk) as url:
        _check_harmless(tmp_path, url)


@pytest.mark.usefixtures("short_end")
@pytest.mark.parametrize("where", ["hole", "down", "unknown", "certificate"])
def test_a_service_that_can_not_be_reached_changes_nothing_and_is_one_warning(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, where: str
) -> None:
    others = {"down": nullcontext("http://127.0.0.1:1"), "unknown": nullcontext("http://headrace.invalid")}
    with {**others, "hole": black_hole(), "certificate": certificate_error()}[where] as url:
        _check_harmless(tmp_path, url)
    messages = [record.getMessage() for record in caplog.records]
    assert len(messages) == 1 or (where == "hole" and not messages), "nothing has failed before the time to connect"
    for message in messages:
        assert message.startswith(f"the control plane at {url} does not answer (")
        assert message.endswith("training goes on, reports are kept and sent later")
        assert where != "certificate" or "certificate verify failed" in message


def test_the_end_waits_a_little_for_a_silent_service_but_not_for_one_that_asks_to_wait(
    tmp_path: Path, service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reporter_module, "_SEND_S", SEND_S)
    with raw_service(services.silence) as url:
        telemetry = _connect(tmp_path, url)
        _train(telemetry, range(10))
        assert 0.9 * SEND_S < _finish(telemetry) < SEND_S + 1
        assert not _own_threads()
    service.misbehave = lambda request: FAULTS["401"]
    telemetry = _connect(tmp_path, service.url)
    _train(telemetry, range(10))
    assert _finish(telemetry) < 2


def _numbers(service: Service, attempt: str) -> list[int]:
    return [record["seq"] for of, record in service.records if of == attempt]


def test_a_run_is_reported_whole_and_its_end_too(tmp_path: Path, service: Service) -> None:
    who = identity()
    telemetry = _connect(tmp_path, service.url, who)
    assert telemetry.replay_record(who.lineage, 0, 5) == []
    _train(telemetry, range(200))
    assert _finish(telemetry) < 3
    seqs = _numbers(service, who.attempt)
    assert seqs == list(range(len(seqs)))
    records = [record for _, record in service.records]
    assert sum(record["steps"] for record in records) == 200
    assert sum(record["tokens"] for record in records) == 200 * 1280
    assert records[-1]["step"] == 199
    by_source = [source for record in records for source in record["sources"]]
    assert sum(source["loss_count"] for source in by_source) == 200 * 10
    assert sum(s["loss_sum"] for s in by_source if s["name"] == "web") == pytest.approx(700.0)
    assert {record["dropped"] for record in records} == {0}
    assert records[-1]["rss_bytes"] > 1 << 20
    assert records[-1]["mix_seen"] == 1
    assert len(service.activations) == 20
    [end] = [request for request in service.requests if request.method == "PATCH"]
    assert (end.path.split("/")[-1], end.body) == (who.attempt, {"state": "finished"})
    assert [path for path in tmp_path.rglob("*") if path.is_dir()][2:] == []  # nothing of the attempt is left


def test_a_failed_run_says_why_on_one_line(tmp_path: Path, service: Service) -> None:
    telemetry = _connect(tmp_path, service.url)
    _finish(telemetry, failed="Traceback\n  loss is nan\n" + "x" * 1000)
    [end] = [request for request in service.requests if request.method == "PATCH"]
    assert end.body["state"] == "failed"
    assert end.body["reason"].startswith("Traceback   loss is nan x")
    assert len(end.body["reason"]) == 255


def test_an_outage_costs_no_report_and_no_step(tmp_path: Path, service: Service) -> None:
    who = identity()
    telemetry = _connect(tmp_path, service.url, who)
    _train(telemetry, range(100))
    service.close()
    took = _train(telemetry, range(100, 250))
    assert sorted(took)[75] < 200e-6
    again = Service(service.port)
    again.records = service.records
    wait_until(lambda: again.requests, 15)
    _train(telemetry, range(250, 300))
    _finish(telemetry)
    seqs = _numbers(again, who.attempt)
    assert sorted(set(seqs)) == list(range(max(seqs) + 1))
    first = {record["seq"]: record for _, record in again.records}
    assert sum(record["steps"] for record in first.values()) == 300
    again.close()
    service._thread.join()


def test_what_an_outage_kept_is_sent_by_the_next_start(tmp_path: Path, service: Service) -> None:
    before = identity()
    telemetry = _connect(tmp_path, "http://127.0.0.1:1", before)
    _train(telemetry, range(50))
    _finish(telemetry, failed="out of memory")
    [spool] = (tmp_path / "spool").iterdir()
    who = identity()
    telemetry = _connect(tmp_path, service.url, who)
    shutil.move(spool / before.attempt, next(p for p in (tmp_path / "spool").iterdir() if p != spool))  # as if same URL
    wait_until(lambda: any(request.method == "PATCH" for request in service.requests))
    _finish(telemetry)
    assert sum(r["steps"] for attempt, r in service.records if attempt == before.attempt) == 50
    [end, _] = [request for request in service.requests if request.method == "PATCH"]
    assert end.body == {"state": "failed", "reason": "out of memory"}


def test_ranks_that_are_not_the_leader_leave_the_mix_alone(tmp_path: Path, service: Service) -> None:
    telemetry = _connect(tmp_path, service.url, identity(1, world_size=2))
    telemetry.activated(Activated("service:2", 0, SOURCES, 0))
    assert telemetry.latest_proposal() is None
    assert telemetry.replay_record("x", 0, 5) is None
    _train(telemetry, range(20))
    _finish(telemetry)
    assert service.activations == []
    assert not service.sent("GET", "/mix")
    assert not any(request.method == "PATCH" for request in service.requests)
    assert {record["rank"] for _, record in service.records} == {1}
    assert {record["mix_seen"] for _, record in service.records} == {None}


def test_a_rank_between_steps_shows_that_it_lives(tmp_path: Path, service: Service) -> None:
    telemetry = _connect(tmp_path, service.url)
    time.sleep(0.7)
    assert service.records == []
    telemetry.step_ended(sample(0))
    wait_until(lambda: len(service.records) >= 3)
    assert [record["steps"] for _, record in service.records][:3] == [1, 0, 0]
    _finish(telemetry)


def test_reports_come_as_often_as_the_service_asks(tmp_path: Path, service: Service) -> None:
    service.report_every_s = 1.5
    telemetry = _connect(tmp_path, service.url, report_every_s=0.2)
    _train(telemetry, range(400))
    _finish(telemetry)
    intervals = [record["interval_s"] for _, record in service.records]
    # Its first answers have to come; from then on, but for what is sent at the end.
    asked = next(number for number, interval in enumerate(intervals) if interval >= 1.5)
    assert asked < len(intervals) - 2
    assert min(intervals[asked:-1]) >= 1.5


def test_a_flood_of_steps_is_bounded_and_what_is_dropped_is_shown(
    tmp_path: Path, service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reporter_module, "_TICK_S", 1.0)
    telemetry = _connect(tmp_path, service.url)
    step = sample(0)
    for _ in range(20_000):
        telemetry.step_ended(step)
    _finish(telemetry)
    records = [record for _, record in service.records]
    assert records[-1]["dropped"] > 10_000
    assert records[-1]["dropped"] + sum(record["steps"] for record in records) == 20_000


def test_memory_and_disk_are_bounded_as_configured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, service: Service
) -> None:
    """P7: while the disk takes nothing, the newest so many reports are kept; a full spool drops its oldest."""
    monkeypatch.setenv("HEADRACE_UNWRITTEN_REPORTS", "3")
    monkeypatch.setenv("HEADRACE_SPOOL_BYTES", str(1 << 20))
    service.misbehave = lambda request: Reply(500, {})
    telemetry = _connect(tmp_path, service.url, report_every_s=0.1)
    [held] = (tmp_path / "spool").iterdir()
    moved = held.rename(tmp_path / "aside")
    held.write_text("in the way")
    _train(telemetry, range(300))
    held.unlink()
    moved.rename(held)
    service.misbehave = lambda request: None
    wait_until(lambda: bool(service.records))
    _finish(telemetry)
    dropped = service.records[-1][1]["dropped"]
    numbers = [record["seq"] for _, record in service.records]
    assert dropped > 0
    assert dropped + len(numbers) == numbers[-1] + 1


def test_a_disk_that_fails_is_one_warning_and_costs_no_report(
    tmp_path: Path, service: Service, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    telemetry = _connect(tmp_path, service.url)
    _train(telemetry, range(40))
    [held] = (tmp_path / "spool").iterdir()
    wait_until(lambda: len(service.records) >= 1)
    shutil.rmtree(held)
    held.write_text("in the way")
    _train(telemetry, range(40, 140))
    assert len([r for r in caplog.records if "can't be written" in r.getMessage()]) == 1
    held.unlink()
    _train(telemetry, range(140, 180))
    _finish(telemetry)
    records = {record["seq"]: record for _, record in service.records}
    assert sum(record["steps"] for record in records.values()) >= 179 - 40  # what the removed directory held is gone
    assert max(records) + 1 - len(records) <= 2


def test_values_that_are_no_numbers_do_not_stop_reports(
    tmp_path: Path, service: Service, caplog: pytest.LogCaptureFixture
) -> None:
    telemetry = _connect(tmp_path, service.url)
    telemetry.step_ended(sample(0))
    telemetry.observe(0, {"web": (math.nan, 3)})
    telemetry.observe(0, {"web": ("x", None)})  # type: ignore[dict-item]
    telemetry.observe(0, None)  # type: ignore[arg-type]
    telemetry.step_ended(None)  # type: ignore[arg-type]
    telemetry.observe(0, {"web": (2.0, 1)})
    telemetry.step_ended(sample(1))
    wait_until(lambda: sum(record["steps"] for _, record in service.records) == 2)
    _finish(telemetry)
    losses = [source["loss_sum"] for _, record in service.records for source in record["sources"]]
    assert sum(losses) == 2.0
    assert "'web' at step 0 is not finite" in caplog.text


def test_warns_once_a_kind_and_never_shows_the_key(
    tmp_path: Path, service: Service, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)

    def misbehave(request: Request) -> Reply:
        return Reply(422, {"detail": f"you sent {request.headers['authorization']}"})

    service.misbehave = misbehave
    telemetry = _connect(tmp_path, service.url)
    _train(telemetry, range(100))
    _finish(telemetry)
    messages = [record.getMessage() for record in caplog.records]
    assert len(messages) == 1
    assert TOKEN not in caplog.text + repr(telemetry)
    assert "[token]" in messages[0]
    assert all(TOKEN.encode() not in path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())


def test_leaves_nothing_open(tmp_path: Path, service: Service) -> None:
    _finish(_connect(tmp_path, service.url))
    before = len(os.listdir("/proc/self/fd"))  # noqa: PTH208
    for _ in range(5):
        telemetry = _connect(tmp_path, service.url)
        _train(telemetry, range(20))
        _finish(telemetry)
    wait_until(lambda: len(os.listdir("/proc/self/fd")) <= before + 2 and not _own_threads())  # noqa: PTH208
