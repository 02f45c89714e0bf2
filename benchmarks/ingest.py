"""How fast the service takes reports over HTTP, and how soon it answers: ``python -m benchmarks.ingest``.

Case V01 is ``--writers 16 --batches 500 --batch 20``. Beside MLflow's server: ``python -m benchmarks.service``.

A server in a process of its own, SQLite or PostgreSQL with every commit on disk, and writers in another process on the
same machine: what is measured is what one machine does with client and server sharing its cores. Batches of ``--batch``
records of three sources each, encoded before the clock runs.
"""

import argparse
import http.client
import json
import shutil
import statistics
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil
import psycopg

from tests.backend.builders import attempt_body, job_body, record
from tests.backend.postgres import PostgresServer, postgres_server
from tests.backend.process import Server, command, new_key, serving

DATABASES = ("sqlite", "postgresql")
JSON = {"Content-Type": "application/json"}
VALUES = 13 + 3 * 7
"measurements that are kept of a report: 13 of the rank, and of each of three sources where it is and what it trained"


@contextmanager
def service(database: str) -> Iterator[tuple[Server, str, dict[str, str], PostgresServer | None]]:
    """A running server, a key for it, its settings, and its database server."""
    folder = Path(tempfile.mkdtemp(prefix="headrace-ingest-"))
    try:
        if database == "sqlite":
            settings = {"max_reports_per_s": "1000000"}
            with serving(folder, **settings) as server:
                yield server, new_key(folder, **settings), settings, None
            return
        with postgres_server(durable=True) as postgres:
            settings = {"max_reports_per_s": "1000000", "database_url": postgres.uri}
            made = command(folder, "migrate", **settings)
            assert made.returncode == 0, made.stderr
            with serving(folder, **settings) as server:
                yield server, new_key(folder, **settings), settings, postgres
    finally:
        shutil.rmtree(folder, ignore_errors=True)


class Client:
    """One connection with a key."""

    def __init__(self, url: str, key: str) -> None:
        self._connection = http.client.HTTPConnection(url.removeprefix("http://"), timeout=60)
        self._headers = {**JSON, "Authorization": f"Bearer {key}"}

    def call(self, method: str, path: str, body: bytes | None = None) -> tuple[int, bytes]:
        """The status and the body of a reply."""
        self._connection.request(method, f"/api/v1{path}", body, self._headers)
        reply = self._connection.getresponse()
        return reply.status, reply.read()

    def json(self, method: str, path: str, body: object = None) -> Any:
        """The reply, which must not be an error."""
        status, text = self.call(method, path, None if body is None else json.dumps(body).encode())
        assert status < 300, (status, text)
        return json.loads(text)


def batches(attempt: str, ranks: range, num_batches: int, batch: int) -> list[bytes]:
    """Bodies of one node: its ranks report in turn, step after step."""
    now = time.time()
    made = []
    for number in range(num_batches):
        records = []
        for i in range(batch):
            rank, seq = ranks[i % len(ranks)], number * -(-batch // len(ranks)) + i // len(ranks)
            records.append(record(rank, seq, 5 * seq, time=now + 2 * seq))
        made.append(json.dumps({"attempt": attempt, "records": records}).encode())
    return made


def percentile(values: list[float], share: float) -> float:
    """The value below which this share of them lies."""
    return sorted(values)[min(len(values) - 1, int(share * len(values)))]


def in_threads(write: Callable[[list[bytes]], None], work: Iterable[list[bytes]]) -> float:
    """Seconds until writers are done, each in a thread with bodies of its own."""
    threads = [threading.Thread(target=write, args=(bodies,)) for bodies in work]
    began = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return time.perf_counter() - began


def ingest(
    url: str, key: str, *, writers: int, num_batches: int, batch: int, watched: bool = True
) -> tuple[float, list[float]]:
    """Reports a second and the seconds of each batch, ``writers`` nodes of 8 ranks writing.

    ``watched``: a dashboard looks on.
    """
    client = Client(url, key)
    job = client.json("POST", "/projects/default/jobs", job_body(f"ingest-{time.monotonic_ns()}"))["id"]
    attempt = attempt_body(8 * writers)
    client.json("POST", f"/jobs/{job}/attempts", attempt)
    work = [batches(attempt["id"], range(8 * i, 8 * i + 8), num_batches, batch) for i in range(writers)]
    took: list[float] = []

    def write(bodies: list[bytes]) -> None:
        mine = Client(url, key)
        for body in bodies:
            began = time.perf_counter()
            status, text = mine.call("POST", f"/jobs/{job}/reports", body)
            took.append(time.perf_counter() - began)
            assert status == 202, (status, text)
            assert json.loads(text)["accepted"] == batch, text

    def watch() -> None:
        mine = Client(url, key)
        while not done.wait(1):
            for page in ("", "/ranks", "/figures/mix"):
                mine.json("GET", f"/jobs/{job}{page}")

    done = threading.Event()
    reader = threading.Thread(target=watch)
    if watched:
        reader.start()
    rate = writers * num_batches * batch / in_threads(write, work)
    done.set()
    if watched:
        reader.join()
    assert len(took) == writers * num_batches, "a writer failed"
    return rate, took


def plot(url: str, key: str, database_url: str, *, days: int, ranks: int) -> list[float]:
    """Seconds of a plot of 1,500 points over ``days`` of one-minute rollups of ``ranks`` ranks, on PostgreSQL."""
    client = Client(url, key)
    job = client.json("POST", "/projects/default/jobs", job_body(f"plot-{time.monotonic_ns()}", total_steps=None))["id"]
    attempt = attempt_body(ranks)
    client.json("POST", f"/jobs/{job}/attempts", attempt)
    metrics = ("tokens_per_s", "wait_p50_ms", "wait_p99_ms", "wait_max_ms", "wait_share", "queue_depth", "rss_bytes")
    stats = [f"{metric}_{of}" for metric in metrics for of in ("min", "max", "mean", "last")]
    begin = int(time.time() // 60) * 60 - days * 86_400
    with psycopg.connect(database_url, autocommit=True) as connection:
        connection.execute(
            "INSERT INTO job_rollup_1m (attempt_id, minute, num_reports, num_waits, step_first, step, time, "
            f"num_ranks, num_rounds, {', '.join(stats)}) "
            "SELECT a.id, %s + 60 * n, 30 * %s, 30 * %s, 150 * n, 150 * n + 149, "
            f"%s + 60 * n + 59, %s, 30, {', '.join(['random()'] * len(stats))} "
            f"FROM attempt a, generate_series(0, %s) n WHERE a.uuid = %s",
            (begin, ranks, ranks, begin, ranks, days * 1440 - 1, attempt["id"]),
        )
        connection.execute("ANALYZE job_rollup_1m")
    took = []
    for i in range(40):
        began = time.perf_counter()
        series = client.json("GET", f"/jobs/{job}/series?metric={metrics[i % 4]}&max_points=1500")
        took.append(time.perf_counter() - began)
        assert len(series["points"]) == 1500
    return took


def ranks_page(url: str, key: str, num_ranks: int) -> list[float]:
    """Seconds of the page of every rank."""
    client = Client(url, key)
    job = client.json("POST", "/projects/default/jobs", job_body(f"ranks-{num_ranks}"))["id"]
    attempt = attempt_body(num_ranks)
    client.json("POST", f"/jobs/{job}/attempts", attempt)
    for first in range(0, num_ranks, 256):
        records = [record(rank, 0) for rank in range(first, min(first + 256, num_ranks))]
        client.json("POST", f"/jobs/{job}/reports", {"attempt": attempt["id"], "records": records})
    took = []
    for _ in range(20):
        began = time.perf_counter()
        assert len(client.json("GET", f"/jobs/{job}/ranks")["items"]) == num_ranks
        took.append(time.perf_counter() - began)
    return took


def cpu_s(processes: list[psutil.Process]) -> float:
    """CPU seconds of these so far."""
    times = [process.cpu_times() for process in processes]
    return sum(spent.user + spent.system for spent in times)


def shown(name: str, took: list[float]) -> str:
    """A line about how long something took."""
    ms = [1000 * value for value in took]
    return (
        f"{name}: median {statistics.median(ms):.0f} ms, p95 {percentile(ms, 0.95):.0f}, p99 {percentile(ms, 0.99):.0f}"
    )


def measure(database: str, args: argparse.Namespace) -> None:
    """Print the figures of one database."""
    with service(database) as (server, key, settings, postgres):
        ingest(server.url, key, writers=args.writers, num_batches=5, batch=args.batch)
        parts = [[psutil.Process(server.process.pid)], postgres.processes() if postgres else []]
        before = [cpu_s(part) for part in parts]
        rate, took = ingest(server.url, key, writers=args.writers, num_batches=args.batches, batch=args.batch)
        num_reports = args.writers * args.batches * args.batch
        spent = [1e6 * (cpu_s(part) - then) / num_reports for part, then in zip(parts, before, strict=True)]
        print(f"{database}: {rate:,.0f} reports/s by {args.writers} writers in batches of {args.batch}")
        print(f"  {rate * VALUES:,.0f} metric values/s: a report keeps {VALUES}")
        print(f"  CPU time a report, pages included: {spent[0]:.0f} µs of the server, {spent[1]:.0f} of PostgreSQL")
        print("  " + shown("a batch", took))
        if args.pages:
            print("  " + shown("ranks page of 4,096", ranks_page(server.url, key, 4096)))
        if args.pages and database == "postgresql":
            took = plot(server.url, key, settings["database_url"], days=7, ranks=1000)
            print("  " + shown("1,500 points of 7 days of 1,000 ranks", took))


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else None)
    parser.add_argument("--database", choices=DATABASES, action="append", help="default: both")
    parser.add_argument("--writers", type=int, default=4)
    parser.add_argument("--batches", type=int, default=40, help="of each writer")
    parser.add_argument("--batch", type=int, default=200, help="records in a batch")
    parser.add_argument("--pages", action="store_true", help="measure reading, too")
    args = parser.parse_args()
    for database in args.database or DATABASES:
        measure(database, args)


if __name__ == "__main__":
    main()
