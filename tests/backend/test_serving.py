"""The running server: streams, shutdown, and what survives a kill (case V05)."""

import json
import sqlite3
import threading
import time
from pathlib import Path

import httpx
import psycopg

from tests.backend.builders import attempt_body, job_body, record
from tests.backend.postgres import postgres_server
from tests.backend.process import command, new_key, serving


def registered(client: httpx.Client, world_size: int = 4) -> tuple[str, str]:
    made = client.post("/api/v1/projects/default/jobs", json=job_body())
    assert made.status_code == 200, made.text
    job = f"/api/v1/jobs/{made.json()['id']}"
    attempt = attempt_body(world_size)
    assert client.post(f"{job}/attempts", json=attempt).status_code == 200
    return job, attempt["id"]


def test_streams_tell_what_happens_and_end_when_the_server_stops(tmp_path: Path) -> None:
    headers = {"Authorization": f"Bearer {new_key(tmp_path)}"}
    with serving(tmp_path) as server, httpx.Client(base_url=server.url, headers=headers, timeout=30) as client:
        job, _ = registered(client)
        heard: list[tuple[str, str]] = []
        ended = threading.Event()

        def listen() -> None:
            with client.stream("GET", "/api/v1/events", params={"job": job[-36:]}) as stream:
                assert stream.headers["content-type"].startswith("text/event-stream")
                name = ""
                for line in stream.iter_lines():
                    if line.startswith("event: "):
                        name = line.removeprefix("event: ")
                    elif line.startswith("data: "):
                        heard.append((name, line.removeprefix("data: ")))
            ended.set()

        listeners = [threading.Thread(target=listen) for _ in range(3)]
        for listener in listeners:
            listener.start()
        deadline = time.monotonic() + 20
        while sum(name == "snapshot" for name, _ in heard) < 3 and time.monotonic() < deadline:
            time.sleep(0.05)
        body = {"weights": {"web": 1, "code": 1, "legal": 1}, "reason": "watch"}
        assert client.put(f"{job}/mix", json=body, headers={"If-Match": '"v1"'}).status_code == 200
        while sum(name == "mix" for name, _ in heard) < 3 and time.monotonic() < deadline:
            time.sleep(0.05)
        assert server.stop() < 10
        assert ended.wait(5)
        for listener in listeners:
            listener.join(5)
    assert heard[0][0] == "snapshot"
    event = json.loads(next(data for name, data in heard if name == "mix"))
    assert event["version"]["reason"] == "watch"
    assert server.process.returncode == 0


class Writer(threading.Thread):
    """A rank that reports as fast as it can until the server is gone; remembers what was acknowledged."""

    def __init__(self, client: httpx.Client, path: str, attempt: str, rank: int, first_seq: int) -> None:
        super().__init__()
        self.client, self.path, self.attempt = client, path, attempt
        self.rank, self.seq = rank, first_seq
        self.acknowledged: set[tuple[int, int]] = set()

    def run(self) -> None:
        while True:
            records = [record(self.rank, self.seq + i, self.seq + i) for i in range(5)]
            try:
                reply = self.client.post(self.path, json={"attempt": self.attempt, "records": records})
            except httpx.HTTPError:
                return
            if reply.status_code == 202:
                self.acknowledged.update((self.rank, self.seq + i) for i in range(5))
            self.seq += 5


def test_what_was_acknowledged_survives_kill_9(tmp_path: Path) -> None:
    acknowledged: set[tuple[int, int]] = set()
    job = attempt = ""
    headers = {"Authorization": f"Bearer {new_key(tmp_path)}"}
    for round_ in range(3):
        with serving(tmp_path) as server, httpx.Client(base_url=server.url, headers=headers, timeout=30) as client:
            if not job:
                job, attempt = registered(client)
            assert client.get(job).status_code == 200
            writers = [Writer(client, f"{job}/reports", attempt, rank, round_ * 1_000_000) for rank in range(4)]
            for writer in writers:
                writer.start()
            time.sleep(1.5)
            server.kill()
            for writer in writers:
                writer.join(30)
                acknowledged |= writer.acknowledged
    assert len(acknowledged) > 50
    connection = sqlite3.connect(tmp_path / "headrace.db")
    stored = set(connection.execute("SELECT rank, seq FROM rank_report"))
    assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    connection.close()
    assert acknowledged <= stored


def test_what_was_acknowledged_survives_kill_9_of_postgres_and_of_the_server(tmp_path: Path) -> None:
    with postgres_server(durable=True) as postgres:
        assert command(tmp_path, "migrate", database_url=postgres.uri).returncode == 0
        headers = {"Authorization": f"Bearer {new_key(tmp_path, database_url=postgres.uri)}"}
        with (
            serving(tmp_path, database_url=postgres.uri) as server,
            httpx.Client(base_url=server.url, headers=headers, timeout=30) as client,
        ):
            job, attempt = registered(client)
            writers = [Writer(client, f"{job}/reports", attempt, rank, 0) for rank in range(4)]
            for writer in writers:
                writer.start()
            time.sleep(1)
            postgres.crash()
            assert client.get(job).status_code == 200, "the server finds its database again"
            server.kill()
            for writer in writers:
                writer.join(30)
            acknowledged = set().union(*(writer.acknowledged for writer in writers))
            assert len(acknowledged) > 20
        with psycopg.connect(postgres.uri) as connection:
            stored = set(connection.execute("SELECT rank, seq FROM rank_report").fetchall())
        assert acknowledged <= stored


def test_readiness_says_when_the_database_is_not_this_servers(tmp_path: Path) -> None:
    with serving(tmp_path) as server:
        assert httpx.get(f"{server.url}/healthz").json() == {"status": "ok"}
        assert httpx.get(f"{server.url}/readyz").status_code == 200
        connection = sqlite3.connect(tmp_path / "headrace.db")
        connection.execute("UPDATE alembic_version SET version_num = '9999_future'")
        connection.commit()
        connection.close()
        reply = httpx.get(f"{server.url}/readyz")
        assert reply.status_code == 503
        assert "revision" in reply.json()["reason"]
