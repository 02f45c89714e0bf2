"""Lost answers, busy servers and strangers on the port: what is repeated, and what never is."""

import json
import threading
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import ClassVar

import pytest
from headrace_server.changes.schemas import MixChange
from headrace_server.client import (
    AwaitingApprovalError,
    BrokenOffError,
    BusyError,
    Client,
    InvalidError,
    Job,
    UnreachableError,
)
from headrace_server.client.transport import Transport

PROBLEM = b'{"code": "too_many_requests", "detail": "busy", "errors": [], "request_id": "r"}'
PROJECTS = b'{"items": []}'
Reply = tuple[int, dict[str, str], bytes] | None


class _Scripted(BaseHTTPRequestHandler):
    """Gives one reply after the other; None closes the connection without one."""

    replies: ClassVar[list[Reply]]
    seen: ClassVar[list[tuple[str, str]]]
    protocol_version = "HTTP/1.1"

    def _answer(self) -> None:
        self.rfile.read(int(self.headers.get("content-length", 0)))
        self.seen.append((self.command, self.headers.get("authorization", "")))
        reply = self.replies.pop(0)
        self.close_connection = True
        if reply is None:
            return
        status, headers, body = reply
        self.send_response(status)
        for name, value in {"content-length": str(len(body)), "connection": "close", **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    do_GET = do_PUT = do_POST = do_PATCH = _answer  # noqa: N815

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        pass


@contextmanager
def scripted(*replies: Reply) -> Iterator[tuple[str, list[tuple[str, str]]]]:
    handler = type("Handler", (_Scripted,), {"replies": list(replies), "seen": []})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}", handler.seen
        finally:
            server.shutdown()
            thread.join()


def busy(retry_after: str = "0", status: int = 429) -> Reply:
    return status, {"retry-after": retry_after}, PROBLEM


def test_a_read_is_repeated_after_a_lost_answer_and_a_busy_server() -> None:
    with scripted(None, busy(), busy(status=503), (200, {}, PROJECTS)) as (url, seen), Client(url, "hr_x") as client:
        assert client.projects() == []
    assert seen == [("GET", "Bearer hr_x")] * 4


def test_retry_after_is_honoured(monkeypatch: pytest.MonkeyPatch) -> None:
    waits: list[float | None] = []
    monkeypatch.setattr(Transport, "_wait", lambda _self, _number, asked_s: waits.append(asked_s))
    with scripted(busy("7"), busy("soon"), (200, {}, PROJECTS)) as (url, _), Client(url, "t") as client:
        client.projects()
    assert waits == [7.0, None]


def test_repeating_ends() -> None:
    with scripted(*[busy("0")] * 3) as (url, seen), Client(url, "t", retries=2) as client:
        with pytest.raises(BusyError) as refused:
            client.projects()
        assert (refused.value.status, refused.value.retry_after_s) == (429, 0.0)
    assert len(seen) == 3
    with (
        scripted(None, None) as (url, seen),
        Client(url, "t", retries=1) as client,
        pytest.raises(UnreachableError, match=url),
    ):
        client.projects()
    assert len(seen) == 2


def a_job(client: Client) -> Job:
    return Job(client._transport, uuid.uuid4(), "llama")


def test_a_change_whose_answer_is_lost_is_never_repeated() -> None:
    with scripted(None, None) as (url, seen), Client(url, "t") as client, pytest.raises(UnreachableError):
        a_job(client).set_tags({"a": "b"})
    assert [method for method, _ in seen] == ["PATCH"]


def test_a_change_under_a_key_is_repeated_under_the_same_key(monkeypatch: pytest.MonkeyPatch) -> None:
    keys: list[str | None] = []
    answer = _Scripted._answer

    def note(handler: _Scripted) -> None:
        keys.append(handler.headers.get("idempotency-key"))
        answer(handler)

    monkeypatch.setattr(_Scripted, "do_PUT", note)
    refused = (422, {}, PROBLEM)
    with scripted(None, refused) as (url, _), Client(url, "t") as client, pytest.raises(InvalidError):
        a_job(client).set_mix({"web": 1}, reason="r", base=1)
    assert len(keys) == 2 and keys[0] is not None and keys[0] == keys[1]


def test_a_change_that_waits_for_an_approval_says_so() -> None:
    waiting = {
        **dict.fromkeys(MixChange.model_fields),
        **{"id": str(uuid.uuid4()), "state": "awaiting_approval", "kind": "edit", "starts": "at_once"},
        **{"weights_ppm": {"web": 1_000_000}, "ramp_steps": 0, "author": "ada", "reason": "r", "created_at": 1.0},
    }
    reply = (202, {}, json.dumps(waiting).encode())
    with scripted(reply) as (url, _), Client(url, "t") as client, pytest.raises(AwaitingApprovalError) as waits:
        a_job(client).set_mix({"web": 1}, reason="r", base=1)
    assert waits.value.change.weights_ppm == {"web": 1_000_000}


def test_a_change_that_was_refused_unread_is_repeated() -> None:
    with (
        scripted(busy(), (422, {}, PROBLEM)) as (url, seen),
        Client(url, "t") as client,
        pytest.raises(Exception, match="busy"),
    ):
        a_job(client).set_mix({"web": 1}, reason="r", base=1)
    assert [method for method, _ in seen] == ["PUT", "PUT"]


def test_a_redirect_is_not_followed_with_the_token() -> None:
    elsewhere = (302, {"location": "http://127.0.0.1:1/"}, b"")
    with (
        scripted(elsewhere) as (url, seen),
        Client(url, "t") as client,
        pytest.raises(UnreachableError, match="answers 302 and not as a Headrace server does"),
    ):
        client.projects()
    assert len(seen) == 1


@pytest.mark.parametrize("body", [b"<html>", b"[1]", b'{"items": 3}', b""])
def test_another_server_on_the_port_is_named(body: bytes) -> None:
    with (
        scripted((200, {}, body)) as (url, _),
        Client(url, "t") as client,
        pytest.raises(UnreachableError, match="does not answer as"),
    ):
        client.projects()


def test_nobody_there_is_named() -> None:
    with scripted() as (url, _):
        pass
    with Client(url, "t", retries=0) as client, pytest.raises(UnreachableError, match=url):
        client.projects()


def test_a_download_that_breaks_off_leaves_nothing(tmp_path: Path) -> None:
    short = (200, {"content-length": "1000"}, b"rank,seq\r\n")
    with scripted(short) as (url, _), Client(url, "t") as client:
        (tmp_path / "x.csv").write_text("the one before")
        with pytest.raises(BrokenOffError, match="broke off"):
            a_job(client).export(tmp_path / "x.csv")
    assert [path.name for path in tmp_path.iterdir()] == ["x.csv"]
    assert (tmp_path / "x.csv").read_text() == "the one before"


def test_a_server_that_says_nothing_is_given_up() -> None:
    import socket

    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        with Client(url, "t", timeout_s=0.2, retries=1) as client, pytest.raises(UnreachableError):
            client.projects()
