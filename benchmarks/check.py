"""Whether a path has become slower by more than a fifth: `python -m benchmarks.check [NAME ...] [--record]`.

Each path is measured in turn with a limit in the same run, so that it can be told on any machine: batches with a plain
read of the same bytes, planning with what numpy needs for as many numbers, a start with `import torch`, taking reports
with bare parsing and storing of the same bytes, a figure with encoding its reply. One that seems slower is measured
again, up to three times. The exit code is 1 where one is slower than on record (`benchmarks/guards.json`); `--record`
puts what is found on record instead. Takes two minutes.
"""

from __future__ import annotations

import argparse
import json
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import numpy as np
import psutil
from headrace.bench.child import cold_environment, start_cold
from headrace.bench.measure import measure_rates
from headrace.bench.workload import Workload
from headrace.config import Source
from headrace.mix import PPM
from headrace.plan import Position, plan_step
from headrace.telemetry.interval import Interval
from headrace.telemetry.port import StepSample
from headrace_server.ingest.records import REPORT_COLUMNS

from benchmarks import guards, ingest, results
from benchmarks.corpus import VOCAB_SIZE
from benchmarks.figures import courses_of
from benchmarks.guards import Guard, in_turn
from benchmarks.profiles.works import arrow_sources, parquet_sources
from tests.backend.builders import attempt_body, job_body
from tests.loader.telemetry.ranks import sample

ALL = ("input_ids", "labels", "position_ids")
BATCH = 200
"records of a batch of reports"


def batches(
    sources: Callable[[], tuple[Source, ...]], outputs: tuple[str, ...] = ALL, packing: str = "concat"
) -> Callable[[], float]:
    """Batches made on a thread beside the loop, against a plain read of the same files."""

    def share() -> float:
        workload = Workload(
            sources(), micro_batches=8, eos_id=0, outputs=outputs, packing=packing, vocab_size=VOCAB_SIZE
        )
        with workload.loader() as loader:
            next(loader)
            return measure_rates(loader, workload, seconds=0.7, rounds=7).ratio or 0.0

    return share


def planning() -> float:
    """A step of 4,096 sequences from 50 sources, against adding up and sorting as many numbers."""
    courses, weights = courses_of(50), np.full(50, PPM // 50)
    start = plan_step(Position.start(50), weights, 4096, courses).after
    lanes = np.random.default_rng(1).integers(0, 512, 4096)
    added = np.broadcast_to(weights, (4096, 50))

    def limit() -> None:
        for _ in range(20):
            np.cumsum(added, axis=0)
            np.argsort(lanes, kind="stable")

    def path() -> None:
        for _ in range(20):
            plan_step(start, weights, 4096, courses)

    path()
    limit()
    return in_turn(path, limit, rounds=25)


def start() -> float:
    """A fresh process from after `import torch` to its first batch, against `import torch`."""
    text = Workload(arrow_sources(), eos_id=0, vocab_size=VOCAB_SIZE).to_json()
    script = "import time; began = time.perf_counter(); import torch; print(time.perf_counter() - began)"
    environment = cold_environment()
    start_cold(text, 0.0)  # compiles what is not cached
    shares = []
    for _ in range(5):
        done = subprocess.run(
            [sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=True
        )
        shares.append(float(done.stdout) / start_cold(text, 0.0).first_batch_s)
    return statistics.median(shares)


def reports() -> float:
    """One rank's reports, ten steps of 50 sources each, against encoding the report."""
    wide = [replace(sample(number), sources=sample(number).sources * 25) for number in range(10)]
    made = _report(wide)

    def path() -> None:
        for _ in range(20):
            json.dumps(_report(wide), allow_nan=False, separators=(",", ":"))

    def limit() -> None:
        for _ in range(20):
            json.dumps(made, allow_nan=False, separators=(",", ":"))

    path()
    limit()
    return in_turn(path, limit, rounds=25)


def _report(steps: Sequence[StepSample]) -> dict[str, object]:
    interval = Interval(since=0.0)
    for step in steps:
        interval.add(step)
    assert interval.last is not None
    return dict(interval.record(interval.last))


def taking_reports() -> float:
    """CPU time of the server a report, against parsing the same bytes and storing the rows in SQLite, synced alike."""
    with ingest.service("sqlite") as (server, key, _, _):
        process = psutil.Process(server.process.pid)
        ingest.ingest(server.url, key, writers=2, num_batches=5, batch=BATCH, watched=False)
        shares = []
        for _ in range(5):
            before = ingest.cpu_s([process])
            ingest.ingest(server.url, key, writers=2, num_batches=20, batch=BATCH, watched=False)
            spent = ingest.cpu_s([process]) - before
            shares.append(_bare_s(ingest.batches(str(uuid.uuid4()), range(8), 40, BATCH)) / spent)
    return statistics.median(shares)


def _bare_s(bodies: list[bytes]) -> float:
    """CPU seconds of what no service can leave out: JSON, a row a report, a commit a batch."""
    columns = ", ".join(REPORT_COLUMNS)
    with tempfile.TemporaryDirectory() as folder, closing(sqlite3.connect(Path(folder) / "bare.db")) as connection:
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("PRAGMA synchronous=FULL")
        connection.execute(f"CREATE TABLE report ({columns}, PRIMARY KEY (rank, seq)) WITHOUT ROWID")
        began = time.process_time()
        for body in bodies:
            rows = [[record[name] for name in REPORT_COLUMNS] for record in json.loads(body)["records"]]
            marks = ", ".join("?" * len(REPORT_COLUMNS))
            with connection:
                connection.executemany(f"INSERT INTO report VALUES ({marks})", rows)
        return time.process_time() - began


def drawing() -> float:
    """CPU time of the server for a figure of an hour, against decoding and encoding its reply."""
    with ingest.service("sqlite") as (server, key, _, _):
        client = ingest.Client(server.url, key)
        job = client.json("POST", "/projects/default/jobs", job_body(f"figures-{uuid.uuid4()}"))["id"]
        attempt = attempt_body(8)
        client.json("POST", f"/jobs/{job}/attempts", attempt)
        for body in ingest.batches(attempt["id"], range(8), 9, 800):
            status, text = client.call("POST", f"/jobs/{job}/reports", body)
            assert status == 202, text
        process = psutil.Process(server.process.pid)
        path = f"/jobs/{job}/figures/mix"
        shares = []
        for _ in range(6):
            before = ingest.cpu_s([process])
            replies = [client.call("GET", path)[1] for _ in range(20)]
            spent = ingest.cpu_s([process]) - before
            began = time.process_time()
            for reply in replies:
                json.dumps(json.loads(reply))
            shares.append((time.process_time() - began) / spent)
    return statistics.median(shares[1:])


def all_guards() -> Iterator[Guard]:
    """Every path that is held."""

    mapped = "a plain read of rows from random places of the mapped files"
    yield Guard("batches: ids", mapped, batches(arrow_sources, ("input_ids",)))
    yield Guard("batches: ids, labels, positions", mapped, batches(arrow_sources))
    yield Guard("batches: best fit", mapped, batches(arrow_sources, packing="best_fit"))
    yield Guard("batches: Parquet", "pyarrow decoding random row groups", batches(parquet_sources))
    yield Guard("start", "import torch", start)
    yield Guard("planning", "adding up and sorting as many numbers with numpy", planning)
    yield Guard("reports of a rank", "encoding them", reports)
    yield Guard("taking reports", "parsing and storing the same bytes, CPU time", taking_reports)
    yield Guard("drawing a figure", "decoding and encoding its reply, CPU time", drawing)


def main(words: Sequence[str] | None = None) -> int:
    """Measure each, compare, print; the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    every = list(all_guards())
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(guard.name for guard in every)}")
    parser.add_argument("--record", action="store_true", help="put what is found on record")
    args = parser.parse_args(words)
    if unknown := set(args.names) - {guard.name for guard in every}:
        parser.error(f"no guard is called {sorted(unknown)}; there are {', '.join(guard.name for guard in every)}")
    recorded = {} if args.record else guards.read()
    found = []
    for guard in every:
        if args.names and guard.name not in args.names:
            continue
        of = guards.outcome(guard, recorded.get(guard.name))
        found.append(of)
        before = "" if of.recorded is None else f" {of.recorded:8.3f} on record, {of.share / of.recorded:5.2f} of it"
        print(
            f"{'ok    ' if of.holds else 'SLOWER'} {guard.name:34}{of.share:8.3f} of {guard.limit}{before}", flush=True
        )
    if args.record:
        about = {"commit": results.commit(), "machine": results.machine()}
        guards.write({one.name: one.share for one in found}, about)
    return int(not all(one.holds for one in found))


if __name__ == "__main__":
    sys.exit(main())
