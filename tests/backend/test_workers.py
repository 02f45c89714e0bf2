"""The server as processes: several workers on PostgreSQL act as one, and every kind of server stops cleanly."""

import signal
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import psutil
import psycopg
import pytest

from tests.backend.postgres import PostgresServer
from tests.backend.process import Server, command, new_key, serving
from tests.backend.test_serving import registered

START_S = 60.0


def until(condition: object, seconds: float = START_S) -> None:
    """Wait until a call says yes."""
    assert callable(condition)
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not come true in time"
        time.sleep(0.05)


@dataclass
class Heard:
    """What one stream said: the names of its events with their data, other fields, and whether it has ended."""

    events: list[tuple[str, str]] = field(default_factory=list)
    retry: list[str] = field(default_factory=list)
    ended: threading.Event = field(default_factory=threading.Event)

    def names(self) -> list[str]:
        return [name for name, _ in self.events]


def listen(url: str, key: str, path: str, heard: Heard) -> None:
    """Follow a stream over a connection of its own until it ends."""
    try:
        with (
            httpx.Client(headers={"Authorization": f"Bearer {key}"}, timeout=60) as client,
            client.stream("GET", f"{url}{path}") as stream,
        ):
            assert stream.status_code == 200, stream.read()
            name = ""
            for line in stream.iter_lines():
                field_name, _, value = line.partition(": ")
                if field_name == "event":
                    name = value
                elif field_name == "data":
                    heard.events.append((name, value))
                elif field_name == "retry":
                    heard.retry.append(value)
    except httpx.TransportError:
        heard.events.append(("broken", ""))
    heard.ended.set()


@contextmanager
def streams(url: str, key: str, paths: list[str]) -> Iterator[list[Heard]]:
    """Open streams, all of which have said their first word."""
    heard = [Heard() for _ in paths]
    threads = [
        threading.Thread(target=listen, args=(url, key, path, one)) for path, one in zip(paths, heard, strict=True)
    ]
    for thread in threads:
        thread.start()
    try:
        until(lambda: all(one.events for one in heard))
        yield heard
    finally:
        for thread in threads:
            thread.join(START_S)


@contextmanager
def database(kind: str, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[dict[str, str]]:
    """Settings of a fresh database."""
    if kind == "sqlite":
        yield {}
        return
    server: PostgresServer = request.getfixturevalue("postgres")
    name = server.create(request.getfixturevalue("migrated_postgres"))
    yield {"database_url": server.uri_of(name)}
    server.drop(name)


@pytest.fixture
def two(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[tuple[Server, dict[str, str]]]:
    """A server of two workers that both serve, and its settings."""
    with (
        database("postgresql", tmp_path, request) as settings,
        serving(tmp_path, workers="2", **settings) as server,
    ):
        until(lambda: num_lines(settings) == 2)
        yield server, settings
        if server.process.poll() is None:
            server.stop()


def num_lines(settings: dict[str, str]) -> int:
    """How many processes hear what others tell: as many as serve."""
    query = (
        "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'headrace-events'"
        " AND datname = current_database()"
    )
    with psycopg.connect(settings["database_url"]) as connection:
        row = connection.execute(query).fetchone()
    assert row is not None
    return int(row[0])


def test_workers_on_sqlite_are_refused_with_the_reason(tmp_path: Path) -> None:
    refused = command(tmp_path, "serve", "--workers", "2", "--port", "0")
    assert refused.returncode == 1
    assert "one writer at a time" in refused.stderr and "PostgreSQL" in refused.stderr
    assert not (tmp_path / "headrace.db").exists()


def test_workers_act_as_one(two: tuple[Server, dict[str, str]], tmp_path: Path) -> None:
    server, settings = two
    assert server.log.count("First start") == 1 and server.log.count(server.ready["password"]) == 1
    key = new_key(tmp_path, **settings)
    headers = {"Authorization": f"Bearer {key}"}
    with httpx.Client(base_url=server.url, headers=headers, timeout=30) as client:
        job, _ = registered(client)
        login = {"username": server.ready["username"], "password": server.ready["password"]}
        with httpx.Client(base_url=server.url) as person:
            cookies = dict(person.post("/api/v1/session", json=login).raise_for_status().cookies)
        for _ in range(20):  # each over a new connection, whoever takes it
            assert httpx.get(f"{server.url}/api/v1/session", cookies=cookies).status_code == 200
        paths = [f"{job}/mix/stream"] * 10 + [f"/api/v1/events?job={job[-36:]}"] * 10
        with streams(server.url, key, paths) as heard:
            body = {"weights": {"web": 1, "code": 1, "legal": 1}, "reason": "watch"}
            began = time.monotonic()
            assert client.put(f"{job}/mix", json=body, headers={"If-Match": '"v1"'}).status_code == 200
            until(lambda: all(one.events[-1][1] == '{"version":2}' for one in heard[:10]))
            until(lambda: all("mix" in one.names() for one in heard[10:]))
            assert time.monotonic() - began < 3.0
            assert server.stop() < 10
    assert server.process.returncode == 0


def test_a_worker_that_dies_is_replaced(two: tuple[Server, dict[str, str]], tmp_path: Path) -> None:
    server, settings = two
    workers = _workers(server)
    assert len(workers) == 2
    workers[0].kill()
    until(lambda: len(_workers(server)) == 2 and workers[0] not in _workers(server))
    until(lambda: num_lines(settings) == 2)
    assert httpx.get(f"{server.url}/readyz").status_code == 200


def _workers(server: Server) -> list[psutil.Process]:
    return [
        process
        for process in psutil.Process(server.process.pid).children()
        if process.status() != psutil.STATUS_ZOMBIE and "spawn_main" in " ".join(process.cmdline())
    ]


def test_workers_do_not_outlive_their_supervisor(two: tuple[Server, dict[str, str]]) -> None:
    server, _ = two
    workers = _workers(server)
    server.kill()
    gone, alive = psutil.wait_procs(workers, timeout=START_S)
    assert len(gone) == 2 and not alive


@pytest.mark.parametrize(("kind", "workers"), [("sqlite", "1"), ("postgresql", "1"), ("postgresql", "2")])
def test_a_server_stops_in_time_with_streams_and_requests_under_way(
    kind: str, workers: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    with ExitStack() as stack:
        settings = stack.enter_context(database(kind, tmp_path, request))
        server = stack.enter_context(serving(tmp_path, workers=workers, **settings))
        key = new_key(tmp_path, **settings)
        client = stack.enter_context(
            httpx.Client(base_url=server.url, headers={"Authorization": f"Bearer {key}"}, timeout=30)
        )
        job, _ = registered(client)
        paths = [f"{job}/mix/stream", "/api/v1/events"] * 25
        with streams(server.url, key, paths) as heard:
            under_way = Trickle(server.url, f"{job}/mix/preview", key, b'{"weights":{"web":1,"code":1,"legal":0}}')
            began = time.monotonic()
            server.process.send_signal(signal.SIGTERM)
            until(lambda: all(one.ended.is_set() for one in heard), 5)
            assert under_way.finish().startswith(b"HTTP/1.1 200")
            server.process.wait(timeout=30)
            assert time.monotonic() - began < 10
    assert server.process.returncode == 0
    assert all(one.names()[-1] == "end" for one in heard)
    assert all(500 <= int(one.retry[-1]) <= 2000 for one in heard)
    assert len({one.retry[-1] for one in heard}) > 5, "clients come back at different times"
    assert "Traceback" not in server.log


class Trickle:
    """A request whose body has not arrived in full."""

    def __init__(self, url: str, path: str, key: str, body: bytes) -> None:
        host, _, port = url.removeprefix("http://").partition(":")
        self._socket = socket.create_connection((host, int(port)), timeout=20)
        self._rest = body[-1:]
        head = (
            f"POST {path} HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {key}\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
        )
        self._socket.sendall(head.encode() + body[:-1])
        time.sleep(0.3)  # so that it is under way, and not only sent

    def finish(self) -> bytes:
        """Send the rest; the reply."""
        with self._socket:
            self._socket.sendall(self._rest)
            return self._socket.recv(65536)


def test_a_start_of_two_replicas_at_once_makes_one_first_user(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    with database("postgresql", tmp_path, request) as settings, ExitStack() as stack:
        folders = [tmp_path / name for name in "ab"]
        found: list[Server] = []

        def start(folder: Path) -> None:
            folder.mkdir()
            found.append(stack.enter_context(serving(folder, **settings)))

        starting = [threading.Thread(target=start, args=(folder,)) for folder in folders]
        for thread in starting:
            thread.start()
        for thread in starting:
            thread.join(60)
        assert len(found) == 2
        assert sum("password" in server.ready for server in found) == 1
        assert sum(server.log.count("First start") for server in found) == 1
        assert all(httpx.get(f"{server.url}/readyz").status_code == 200 for server in found)


def test_a_full_server_refuses_one_more_stream_and_keeps_the_others(tmp_path: Path) -> None:
    with serving(tmp_path, max_streams="4") as server:
        key = new_key(tmp_path)
        headers = {"Authorization": f"Bearer {key}"}
        with httpx.Client(base_url=server.url, headers=headers, timeout=30) as client:
            job, _ = registered(client)
            with streams(server.url, key, ["/api/v1/events", f"{job}/mix/stream"] * 2) as heard:
                for path in ("/api/v1/events", f"{job}/mix/stream"):
                    refused = client.get(path)
                    assert (refused.status_code, refused.json()["code"]) == (503, "streams_full")
                    assert int(refused.headers["Retry-After"]) > 0
                assert client.get(f"{job}/mix").status_code == 200, "without a stream all is as ever"
                body = {"weights": {"web": 1, "code": 1, "legal": 1}, "reason": "watch"}
                assert client.put(f"{job}/mix", json=body, headers={"If-Match": '"v1"'}).status_code == 200
                until(lambda: all({"mix", "version"} & set(one.names()[1:]) for one in heard))
                assert server.stop() < 10
            assert all(one.names()[-1] == "end" for one in heard)


def test_a_place_is_free_again_when_its_client_leaves(tmp_path: Path) -> None:
    with serving(tmp_path, max_streams="1") as server:
        headers = {"Authorization": f"Bearer {new_key(tmp_path)}"}
        with httpx.Client(base_url=server.url, headers=headers, timeout=30) as client:
            for _ in range(3):
                with client.stream("GET", "/api/v1/events") as first:
                    lines = first.iter_lines()  # kept, as a stream closes with what reads it
                    assert first.status_code == 200 and next(lines)
                    assert httpx.get(f"{server.url}/api/v1/events", headers=headers).status_code == 503
                until(lambda: "headrace_event_streams 0" in client.get("/metrics").text)
