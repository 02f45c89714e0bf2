"""The leader's stream: news at once, whatever else answers is borne, and it is never in a hurry to come back."""

import itertools
import logging
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from statistics import median

import pytest
from headrace.telemetry.client import Client, Endpoint
from headrace.telemetry.failures import Notices
from headrace.telemetry.mix_feed import MixFeed
from headrace.telemetry.mix_stream import MixStream
from headrace.telemetry.port import Proposal
from headrace.telemetry.registrar import Registrar

from tests.loader.telemetry import services
from tests.loader.telemetry.faults import black_hole, certificate_error
from tests.loader.telemetry.ranks import spool, start, wait_until
from tests.loader.telemetry.services import JOB_ID, Reply, Request, Service, raw_service

HALVES = {"web": 500_000, "code": 500_000}
ALL_WEB = {"web": 1_000_000, "code": 0}
HEADERS = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"
VERSION = b'event: version\ndata: {"version": 3}\n\n'


@pytest.fixture
def service() -> Iterator[Service]:
    running = Service()
    running.streams = True
    yield running
    running.close()


@contextmanager
def following(url: str, silence_s: float = 15.0) -> Iterator[tuple[MixStream, list[int]]]:
    """A stream of its own, and the versions it heard; ends within the limit, without a thread left over."""
    heard: list[int] = []
    stream = MixStream(Client(Endpoint(url, "hr_secret")), Notices("hr_secret"), heard.append, silence_s=silence_s)
    stream.follow(JOB_ID)
    try:
        yield stream, heard
    finally:
        begun = time.monotonic()
        stream.close()
        stream.join()
        assert time.monotonic() - begun < 1.0
        wait_until(lambda: not stream._thread.is_alive(), 2)


def _streams(service: Service) -> list[Request]:
    return service.sent("GET", "/mix/stream")


def test_the_newest_version_first_then_each_edit_at_once(service: Service) -> None:
    with following(service.url) as (stream, heard):
        wait_until(lambda: heard == [1])
        took_s = []
        for version in range(2, 12):
            begun = time.monotonic()
            service.edit(version, HALVES)
            wait_until(lambda wanted=version: heard[-1] == wanted)
            took_s.append(time.monotonic() - begun)
        assert median(took_s) < 0.5
        assert stream.is_trusted(11)
    assert len(_streams(service)) == 1
    assert _streams(service)[0].headers["accept"] == "text/event-stream"
    assert _streams(service)[0].headers["authorization"] == "Bearer hr_secret"


def test_a_feed_hears_of_an_edit_by_the_stream_and_polls_less_meanwhile(service: Service, tmp_path: object) -> None:
    with _feed(service.url, tmp_path) as feed:
        wait_until(lambda: feed._stream is not None and feed._stream.is_trusted(1))
        wait_until(lambda: feed.seen_version == 1)
        time.sleep(1.2)  # the poll that was due before the stream was there
        took_s = []
        for version in range(2, 8):
            weights = HALVES if version % 2 else ALL_WEB
            polls, begun = len(service.sent("GET", "/mix")), time.monotonic()
            service.edit(version, weights)
            wait_until(lambda wanted=version: feed.seen_version == wanted)
            took_s.append(time.monotonic() - begun)
            assert feed.latest == Proposal(f"service:{version}", weights, None, 0)
            assert len(service.sent("GET", "/mix")) == polls + 1
        assert median(took_s) < 0.9
        polls = len(service.sent("GET", "/mix"))
        time.sleep(2.5)
        assert len(service.sent("GET", "/mix")) == polls


@contextmanager
def _feed(url: str, folder: object) -> Iterator[MixFeed]:
    held, made = spool(folder), start()  # type: ignore[arg-type]
    client, notices = Client(Endpoint(url, None)), Notices(None)
    registrar = Registrar(client, "default", held, made)
    feed = MixFeed(held, client, registrar, made, notices, stream_client=Client(Endpoint(url, None)))
    feed.start()
    try:
        yield feed
    finally:
        begun = time.monotonic()
        feed.finish(time.monotonic())
        feed.join(time.monotonic())
        assert time.monotonic() - begun < 1.0


def test_where_there_are_no_streams_the_mix_is_polled_and_nothing_is_said(
    service: Service, tmp_path: object, caplog: pytest.LogCaptureFixture
) -> None:
    service.streams = False  # as an older control plane
    with _feed(service.url, tmp_path) as feed:
        wait_until(lambda: len(service.sent("GET", "/mix")) >= 3)
        service.edit(2, HALVES)
        wait_until(lambda: feed.latest is not None)
    assert len(_streams(service)) == 1
    assert [r for r in caplog.records if r.levelno >= logging.WARNING] == []


def test_a_stream_that_keeps_news_to_itself_is_not_trusted(service: Service) -> None:
    with following(service.url) as (stream, heard):
        wait_until(lambda: heard == [1])
        assert stream.is_trusted(1)
        assert stream.is_trusted(2), "it may be on its way"
        wait_until(lambda: not stream.is_trusted(2), 10)
        service.edit(2, HALVES)
        wait_until(lambda: stream.is_trusted(2))


def test_a_stream_that_ends_is_opened_again_when_the_service_asked_for_it(service: Service) -> None:
    service.retry_ms = 1200
    with following(service.url) as (stream, heard):
        wait_until(lambda: heard == [1])
        begun = time.monotonic()
        service.end_streams()
        wait_until(lambda: not stream.is_trusted(1))
        service.mix = {**service.mix, "version": 9}
        wait_until(lambda: heard[-1] == 9, 10)
        assert time.monotonic() - begun > 1.0
    assert len(_streams(service)) == 2


def test_a_service_that_ends_each_stream_is_not_called_in_a_hurry(service: Service) -> None:
    service.misbehave = lambda request: _ended() if request.path.endswith("/stream") else None
    with following(service.url) as (stream, heard):
        wait_until(lambda: len(_streams(service)) == 2, 10)
        time.sleep(1.5)
        assert len(_streams(service)) <= 4
        assert not stream.is_trusted(3)
        assert set(heard) == {3}


def _ended() -> Reply:
    return Reply(200, iter([VERSION]), {"Content-Type": "text/event-stream"})


def test_a_full_service_is_left_alone_for_as_long_as_it_asks(
    service: Service, caplog: pytest.LogCaptureFixture
) -> None:
    full = Reply(503, {"code": "streams_full"}, {"Retry-After": "2"})
    service.misbehave = lambda request: full if request.path.endswith("/stream") else None
    with following(service.url):
        wait_until(lambda: len(_streams(service)) == 2, 10)
        wait_until(lambda: len(_streams(service)) == 3, 10)
    warned = [r.getMessage() for r in caplog.records if r.levelno >= logging.WARNING]
    assert len(warned) == 1
    assert "no stream of edits to the mix" in warned[0] and "503" in warned[0]


def test_another_job_is_followed_at_once(service: Service) -> None:
    service.streams = False
    other = services.new_uuid()
    with following(service.url) as (stream, heard):
        wait_until(lambda: len(_streams(service)) == 1)
        service.streams = True
        stream.follow(other)
        wait_until(lambda: heard == [1])
    assert other in _streams(service)[-1].path


def _talk(*pieces: bytes, then: Callable[[socket.socket], None]) -> Callable[[socket.socket], None]:
    def talk(connection: socket.socket) -> None:
        connection.recv(65536)
        for piece in pieces:
            connection.sendall(piece)
        then(connection)

    return talk


def _drip_comment(connection: socket.socket) -> None:
    connection.sendall(b":")
    services.drip(connection)


def _flood(piece: bytes) -> Callable[[socket.socket], None]:
    def flood(connection: socket.socket) -> None:
        while True:
            connection.sendall(piece * 1000)

    return flood


SILENT = {
    "half open": _talk(HEADERS, VERSION, then=services.silence),
    "held back by a proxy": _talk(HEADERS, then=services.silence),
    "dripping": _talk(HEADERS, VERSION, then=_drip_comment),
}


@pytest.mark.parametrize("talk", SILENT.values(), ids=SILENT)
def test_silence_is_found_out_and_said_once(
    talk: Callable[[socket.socket], None], caplog: pytest.LogCaptureFixture
) -> None:
    calls: list[float] = []

    def counted(connection: socket.socket) -> None:
        calls.append(time.monotonic())
        talk(connection)

    with raw_service(counted) as url, following(url, silence_s=1.0) as (stream, _):
        wait_until(lambda: len(calls) == 3, 20)
        wait_until(lambda: not stream.is_trusted(3), 10)
    assert all(later - earlier > 1.5 for earlier, later in itertools.pairwise(calls))
    warned = [r.getMessage() for r in caplog.records]
    assert len(warned) == 1
    assert "fell silent" in warned[0]


HOSTILE = {
    "garbage": services.garbage,
    "not events": _talk(HEADERS, b"data: {}\n\nevent: version\ndata: [[[[\n\n", then=services.silence),
    "a version of nonsense": _talk(HEADERS, b'event: version\ndata: {"version": 1e999}\n\n', then=services.silence),
    "a version that is true": _talk(HEADERS, b'event: version\ndata: {"version": true}\n\n', then=services.silence),
    "deep": _talk(HEADERS, b"event: version\ndata: " + b"[" * 50_000 + b"\n\n", then=services.silence),
    "endless line": _talk(HEADERS, then=_flood(b"x" * 1000)),
    "flood of versions": _talk(HEADERS, then=_flood(VERSION)),
    "dripping headers": services.drip_headers,
    "continue": services.continue_for_ever,
    "reset": services.reset,
    "bomb": services.bomb,
    "flood": services.flood,
    "redirect": _talk(
        b"HTTP/1.1 307 Away\r\nLocation: http://169.254.169.254/\r\nContent-Length: 0\r\n\r\n", then=services.silence
    ),
    "html": _talk(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 2\r\n\r\nhi", then=services.silence),
    "unauthorised": _talk(b"HTTP/1.1 401 No\r\nContent-Length: 0\r\n\r\n", then=services.silence),
}


@pytest.mark.parametrize("talk", HOSTILE.values(), ids=HOSTILE)
def test_whatever_answers_costs_little_and_ends_in_time(
    talk: Callable[[socket.socket], None], caplog: pytest.LogCaptureFixture
) -> None:
    calls: list[float] = []

    def counted(connection: socket.socket) -> None:
        calls.append(time.monotonic())
        talk(connection)

    with raw_service(counted) as url, following(url) as (stream, _):
        wait_until(lambda: calls, 10)
        begun_cpu, begun = _cpu_s(stream), time.monotonic()
        time.sleep(1.5)
        assert stream._thread.is_alive()
        assert (_cpu_s(stream) - begun_cpu) / (time.monotonic() - begun) < 0.5
        assert len(calls) <= 3
    assert len([r for r in caplog.records if r.levelno >= logging.WARNING]) <= 1
    assert "hr_secret" not in caplog.text


def _cpu_s(stream: MixStream) -> float:
    return time.clock_gettime(time.pthread_getcpuclockid(stream._thread.ident or 0))


def test_addresses_at_which_nothing_good_answers() -> None:
    with black_hole() as hole, following(hole):
        time.sleep(0.3)
    with certificate_error() as url, following(url) as (stream, heard):
        time.sleep(0.5)
        assert not heard and not stream.is_trusted(None)


def test_a_stream_that_was_never_needed_closes(service: Service) -> None:
    stream = MixStream(Client(Endpoint(service.url, None)), Notices(None), lambda version: None)
    stream.close()
    stream.join()
    assert not any(thread.name == "headrace-stream" for thread in threading.enumerate())
