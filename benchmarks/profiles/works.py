"""What is profiled, each in a process of its own: `python -m benchmarks.profiles.works NAME SECONDS`.

What is to be looked at happens below `measured`; making corpora, starting servers and warming up does not.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
import uuid
from collections.abc import Callable
from pathlib import Path

import numpy as np
from headrace import Loader, Source
from headrace.bench.workload import Workload
from headrace.cache import cache_root
from headrace.mix import PPM
from headrace.plan import Position, plan_step

from benchmarks.corpus import VOCAB_SIZE, WEIGHTS, make_corpus

TOKENS = 40_000_000
LATENCY_MS = 50
PACE_TOKENS_PER_S = 1_000_000
BATCH = 200
"records of a batch of reports"


def rest(seconds: float) -> None:
    """Sleep; stacks below it are not of the work."""
    time.sleep(max(0.0, seconds))


def measured(step: Callable[[], object], seconds: float) -> int:
    """Call `step` for so many seconds; how often."""
    ends, num = time.monotonic() + seconds, 0
    while time.monotonic() < ends:
        step()
        num += 1
    return num


def arrow_sources() -> tuple[Source, ...]:
    """Three sources of Headrace shards, made once."""
    return _sources("arrow")


def parquet_sources() -> tuple[Source, ...]:
    """The same documents as Parquet."""
    return _sources("parquet")


def _sources(extension: str) -> tuple[Source, ...]:
    folder = cache_root() / "bench" / f"{TOKENS}-1000{'' if extension == 'arrow' else '-' + extension}"
    make_corpus(folder, num_tokens=TOKENS, mean_tokens=1000, extension=extension)
    return tuple(Source(name, str(folder / name), weight) for name, weight in WEIGHTS.items())


def _load(extension: str, seconds: float, cache_bytes: int = 1 << 30) -> None:
    """Batches of all outputs as fast as they come, made in the loop itself."""
    work = Workload(_sources(extension), micro_batches=8, eos_id=0, vocab_size=VOCAB_SIZE, cache_bytes=cache_bytes)
    with Loader(work.sources, job=None, rank=0, world_size=1, prefetch=0, **work.options) as loader:
        for _ in range(16):
            next(loader)
        num = measured(lambda: next(loader), seconds)
    print(json.dumps({"tokens_per_s": num * work.micro_batch * work.seq_len / seconds}))


def steady(seconds: float) -> None:
    """Headrace shards."""
    _load("arrow", seconds)


def parquet(seconds: float) -> None:
    """Parquet, with less room than the decoded tokens take, so that each is decoded again and again."""
    _load("parquet", seconds, cache_bytes=64 << 20)


def s3(seconds: float) -> None:
    """Object storage with latency, and a loop that takes a million tokens a second."""
    from benchmarks.remote import store  # noqa: PLC0415
    from benchmarks.s3_fake import BUCKET  # noqa: PLC0415

    os.environ.update(AWS_ACCESS_KEY_ID="x", AWS_SECRET_ACCESS_KEY="x", AWS_EC2_METADATA_DISABLED="true")
    (web, *_) = _sources("arrow")
    with tempfile.TemporaryDirectory() as folder:
        for name in Path(web.path).iterdir():
            target = Path(folder) / "corpus" / "web"
            target.mkdir(parents=True, exist_ok=True)
            (target / name.name).symlink_to(name)
        with store(Path(folder) / "corpus", latency_ms=LATENCY_MS) as options:
            source = Source("web", f"s3://{BUCKET}/web{options}")
            work = Workload((source,), micro_batches=8, eos_id=0, vocab_size=VOCAB_SIZE, cache_bytes=128 << 20)
            with Loader(work.sources, job=None, rank=0, world_size=1, **work.options) as loader:
                for _ in range(64):
                    next(loader)
                waited = _paced(loader, work.micro_batch * work.seq_len / PACE_TOKENS_PER_S, seconds)
    print(json.dumps({"share_of_time_waited": waited / seconds}))


def _paced(loader: Loader, pause_s: float, seconds: float) -> float:
    """Seconds of waiting in a loop that takes a batch each `pause_s`."""
    waited, due = 0.0, time.monotonic()

    def step() -> None:
        nonlocal waited, due
        began = time.monotonic()
        next(loader)
        waited += time.monotonic() - began
        due = max(due + pause_s, time.monotonic())
        rest(due - time.monotonic())

    measured(step, seconds)
    return waited


def planner(seconds: float) -> None:
    """A global batch of 4,096 from 50 sources."""
    from benchmarks.figures import courses_of  # noqa: PLC0415

    courses, weights = courses_of(50), np.full(50, PPM // 50)
    position = plan_step(Position.start(50), weights, 4096, courses).after

    def step() -> None:
        nonlocal position
        position = plan_step(position, weights, 4096, courses).after

    num = measured(step, seconds)
    print(json.dumps({"ms_a_step": 1000 * seconds / num}))


def reporter(seconds: float) -> None:
    """One rank's telemetry at 50 sources, 200 steps and ten reports a second; the service answers in this process."""
    from dataclasses import replace  # noqa: PLC0415

    from headrace.telemetry.connect import connect  # noqa: PLC0415

    from tests.loader.telemetry.ranks import DESCRIPTION, identity, sample  # noqa: PLC0415
    from tests.loader.telemetry.services import Service  # noqa: PLC0415

    service = Service()
    small = sample(0)
    made = replace(small, sources=small.sources * 25, waits_s=(0.001,) * 16)
    with tempfile.TemporaryDirectory() as cache:
        telemetry = connect(identity(), DESCRIPTION, job="cost", url=service.url, cache=Path(cache), report_every_s=0.1)
        assert telemetry is not None

        def step() -> None:
            telemetry.step_ended(made)
            rest(0.005)

        num = measured(step, seconds)
        telemetry.finish()
    service.close()
    print(json.dumps({"steps": num}))


def _ingest(database: str, seconds: float) -> None:
    """Four writers in threads of this process, the server in one of its own."""
    from benchmarks import ingest  # noqa: PLC0415

    with ingest.service(database) as (server, key, _, _):
        ends = time.monotonic() + seconds
        num = 0
        while time.monotonic() < ends:
            ingest.ingest(server.url, key, writers=4, num_batches=20, batch=BATCH, watched=False)
            num += 4 * 20 * BATCH
    print(json.dumps({"reports_per_s": num / seconds}))


def ingest_sqlite(seconds: float) -> None:
    """Reports into SQLite."""
    _ingest("sqlite", seconds)


def ingest_postgresql(seconds: float) -> None:
    """Reports into PostgreSQL."""
    _ingest("postgresql", seconds)


def figures(seconds: float) -> None:
    """Every figure of a job of 64 ranks and three hours."""
    from benchmarks import ingest  # noqa: PLC0415
    from tests.backend.builders import attempt_body, job_body, record  # noqa: PLC0415

    with ingest.service("sqlite") as (server, key, _, _):
        client = ingest.Client(server.url, key)
        job = client.json("POST", "/projects/default/jobs", job_body(f"figures-{uuid.uuid4()}"))["id"]
        attempt = attempt_body(64)
        client.json("POST", f"/jobs/{job}/attempts", attempt)
        begin = time.time() - 3 * 3600
        for first in range(0, 5400, 225):
            seqs = range(first, first + 225, 9)
            made = [record(rank, seq, 5 * seq, time=begin + 2 * seq) for seq in seqs for rank in range(0, 64, 8)]
            client.json("POST", f"/jobs/{job}/reports", {"attempt": attempt["id"], "records": made})
        names = ("mix", "throughput", "wait", "loss", "epochs", "queue", "memory")

        def step() -> None:
            for name in names:
                client.json("GET", f"/jobs/{job}/figures/{name}")

        num = measured(step, seconds)
    print(json.dumps({"ms_a_figure": 1000 * seconds / (num * len(names))}))


WORKS: tuple[Callable[[float], None], ...] = (
    steady,
    parquet,
    s3,
    planner,
    reporter,
    ingest_sqlite,
    ingest_postgresql,
    figures,
)

if __name__ == "__main__":
    {work.__name__: work for work in WORKS}[sys.argv[1]](float(sys.argv[2]))
