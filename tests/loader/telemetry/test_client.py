"""Whatever answers, the client gives an answer or a ServiceError in bounded time and memory, and leaks nothing."""

import logging
import resource
import socket
import threading
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest
from headrace.telemetry import client as client_module
from headrace.telemetry.client import Client, Endpoint
from headrace.telemetry.failures import CLOSED, ServiceError
from headrace.telemetry.http_answer import retry_after_s

from tests.loader.telemetry import services
from tests.loader.telemetry.services import Reply, Request, Service, raw_service

TOKEN = "hr_s3cret"


@pytest.fixture
def service() -> Iterator[Service]:
    running = Service()
    yield running
    running.close()


@pytest.fixture
def client(service: Service) -> Iterator[Client]:
    made = Client(Endpoint(service.url, TOKEN))
    yield made
    made.close()


def test_sends_the_key_in_one_header_and_shows_it_nowhere(service: Service, client: Client) -> None:
    assert client.get("/jobs/x/mix").ok
    assert service.requests[0].headers["authorization"] == f"Bearer {TOKEN}"
    assert TOKEN not in repr(Endpoint(service.url, TOKEN))
    assert TOKEN not in repr(client) + repr(vars(client))


def test_asks_with_the_etag_and_hears_that_nothing_changed(client: Client) -> None:
    first = client.get("/jobs/x/mix")
    assert client.get("/jobs/x/mix", etag=first.etag).status == 304


@pytest.mark.parametrize(
    ("reply", "kind"),
    [
        (Reply(500, {}), "failing"),
        (Reply(502, b"<html>bad gateway</html>"), "failing"),
        (Reply(401, {}), "unauthorised"),
        (Reply(403, b"no"), "unauthorised"),
        (Reply(429, {}, {"Retry-After": "7"}), "busy"),
        (Reply(503, {}, {"Retry-After": "7"}), "busy"),
        (Reply(200, b"<html>a portal</html>"), "not headrace"),
        (Reply(200, b'"text"'), "not headrace"),
        (Reply(200, b"[" * 100_000), "not headrace"),
        (Reply(200, b"9" * 10_000), "not headrace"),
        (Reply(404, b"<html>not here</html>"), "not headrace"),
        (Reply(301, b"", {"Location": "http://127.0.0.1:1/"}), "not headrace"),
        (Reply(307, b"", {"Location": "/api/v1/jobs/x/mix"}), "not headrace"),
        (Reply(418, {"detail": "tea"}), "not headrace"),
    ],
)
def test_an_answer_that_settles_nothing_is_an_error_of_its_kind(
    service: Service, client: Client, reply: Reply, kind: str
) -> None:
    service.misbehave = lambda request: reply
    with pytest.raises(ServiceError) as caught:
        client.get("/jobs/x/mix")
    assert caught.value.kind == kind
    assert len(service.requests) == 1  # no redirect was followed
    assert caught.value.pause_s == {"unauthorised": 60.0, "busy": 7.0}.get(kind, 0.0)


@pytest.mark.parametrize("status", [400, 404, 409, 413, 415, 422])
def test_an_answer_about_the_request_itself_is_handed_on(service: Service, client: Client, status: int) -> None:
    service.misbehave = lambda request: Reply(status, {"code": "c", "detail": "d"})
    answer = client.post("/jobs/x/reports", b"{}")
    assert not answer.ok
    assert answer.reason == f"{status} c d"


@pytest.mark.parametrize(
    "talk",
    [services.silence, services.drip_headers, services.drip_body, services.continue_for_ever],
    ids=lambda talk: talk.__name__,
)
def test_a_slow_answer_is_cut_off(talk: Callable[[socket.socket], None], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client_module, "_TOTAL_S", 0.5)
    with raw_service(talk) as url:
        client = Client(Endpoint(url, None))
        begun = time.monotonic()
        with pytest.raises(ServiceError) as caught:
            client.get("/jobs/x/mix")
        assert time.monotonic() - begun < 0.5 + client_module._WATCH_S + 1.0
        assert caught.value.kind == "unreachable"
        client.close()


@pytest.mark.parametrize(
    "talk", [services.flood, services.bomb, services.garbage, services.reset], ids=lambda talk: talk.__name__
)
def test_a_hostile_answer_is_refused_in_bounded_memory(talk: Callable[[socket.socket], None]) -> None:
    with raw_service(talk) as url:
        client = Client(Endpoint(url, None))
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        for _ in range(3):
            with pytest.raises(ServiceError):
                client.get("/jobs/x/mix")
        client.close()
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 64 << 10  # in KiB


def test_a_black_hole_costs_no_more_than_the_time_to_connect() -> None:
    hole = socket.socket()
    hole.bind(("127.0.0.1", 0))
    hole.listen(0)
    fillers = [socket.socket() for _ in range(4)]  # fill the backlog, so that the next SYN is not answered
    for filler in fillers:
        filler.setblocking(False)
        filler.connect_ex(hole.getsockname())
    client = Client(Endpoint(f"http://127.0.0.1:{hole.getsockname()[1]}", None))
    begun = time.monotonic()
    with pytest.raises(ServiceError):
        client.get("/jobs/x/mix")
    assert time.monotonic() - begun < client_module._CONNECT_S + 0.5
    client.close()
    for one in (hole, *fillers):
        one.close()


def test_abort_ends_a_request_under_way_and_is_no_news() -> None:
    with raw_service(services.silence) as url:
        client = Client(Endpoint(url, None))
        threading.Timer(0.3, client.abort).start()
        begun = time.monotonic()
        with pytest.raises(ServiceError) as caught:
            client.get("/jobs/x/mix")
        assert time.monotonic() - begun < 1.5
        assert caught.value.kind == CLOSED
        with pytest.raises(ServiceError) as caught:
            client.get("/jobs/x/mix")
        assert caught.value.kind == CLOSED
        client.close()


def test_goes_on_over_a_restart_of_the_service_without_a_failure(service: Service, client: Client) -> None:
    assert client.get("/jobs/x/mix").ok
    service.close()
    again = Service(service.port)
    try:
        assert client.get("/jobs/x/mix").ok
    finally:
        again.close()
        service._thread.join()


@pytest.mark.parametrize("variable", ["HTTP_PROXY", "http_proxy", "ALL_PROXY"])
def test_loopback_is_never_reached_through_a_proxy(
    service: Service, monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    monkeypatch.setenv(variable, "http://127.0.0.1:1")
    for url in (service.url, service.url.replace("127.0.0.1", "localhost")):
        client = Client(Endpoint(url, None))
        assert client.get("/jobs/x/mix").ok
        client.close()


def test_others_are_reached_through_the_proxy_of_the_environment(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", service.url)
    monkeypatch.delenv("NO_PROXY", raising=False)
    monkeypatch.delenv("no_proxy", raising=False)
    service.misbehave = lambda request: Reply(200, {"via": "proxy"})
    client = Client(Endpoint("http://control.invalid", None))
    assert client.get("/jobs/x/mix").body == {"via": "proxy"}
    client.close()


def test_the_log_at_level_info_is_not_told_of_each_request(client: Client, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    thread = threading.Thread(target=lambda: client.get("/jobs/x/mix"), name="headrace-drain")
    thread.start()
    thread.join()
    assert caplog.records == []
    client.get("/jobs/x/mix")
    assert [record.name for record in caplog.records] == ["httpx"]


def test_requests_from_many_kinds_of_text_arrive_whole(service: Service, client: Client) -> None:
    body = '{"name": "Zoë \\ud83d\\ude00"}'.encode()
    client.post("/projects/p/jobs", body, compress=True)
    request: Request = service.requests[0]
    assert request.body == {"name": "Zoë 😀"}
    assert request.headers["content-encoding"] == "gzip"


def test_retry_after_is_a_number_or_a_date_and_never_too_long() -> None:
    assert retry_after_s(None) == 0
    assert retry_after_s("12") == 12
    assert retry_after_s("9" * 500) == 300
    for garbage in ("", "-5", "soon", "²", "1e9", "nan"):
        assert retry_after_s(garbage) == 0
    later = datetime.now(UTC) + timedelta(seconds=100)
    assert 95 < retry_after_s(format_datetime(later, usegmt=True)) < 101
    assert retry_after_s("Wed, 21 Oct 2015 07:28:00 GMT") == 0
