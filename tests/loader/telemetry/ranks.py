"""Ranks, samples and spools for telemetry tests."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from headrace.telemetry.description import JobDescription, RankIdentity, Registration, SourceDescription, registration
from headrace.telemetry.port import SourceSample, StepSample
from headrace.telemetry.spool import Spool

from tests.loader.telemetry.services import new_uuid

SOURCES = {"web": 700_000, "code": 300_000}
SEQ_LEN = 128

DESCRIPTION = JobDescription(
    sources=tuple(
        SourceDescription(name=name, weight_ppm=ppm, num_documents=10, num_tokens=10_000, num_shards=2)
        for name, ppm in SOURCES.items()
    ),
    seq_len=SEQ_LEN,
    global_batch_size=10,
    total_steps=1000,
    seed=1,
    packing="concat",
)


def identity(rank: int = 0, *, attempt: str | None = None, world_size: int = 1) -> RankIdentity:
    """Rank `rank` of a data-parallel job on one node; rank 0 leads."""
    return RankIdentity(
        rank=rank,
        local_rank=rank,
        dp_rank=rank,
        world_size=world_size,
        dp_size=world_size,
        counts_tokens=True,
        leader=rank == 0,
        attempt=attempt or new_uuid(),
        lineage=new_uuid(),
        parent_lineage=None,
        resumed_from_step=None,
    )


def start(attempt: str | None = None, *, started_at: float | None = None) -> Registration:
    """The registration of one start of the job `test`."""
    made = registration("test", identity(attempt=attempt), DESCRIPTION)
    return made if started_at is None else replace(made, attempt={**made.attempt, "started_at": started_at})


def sample(step: int, *, at: float | None = None, revision: str = "config:1") -> StepSample:
    """Step `step` of one rank that gets all ten sequences of the global batch."""
    sources = tuple(
        SourceSample(
            name=name,
            ordinal=(step + 1) * ppm // 100_000,
            epoch=0,
            file=f"{name}-00.arrow",
            row=step,
            target_ppm=ppm,
            sequences=ppm // 100_000,
            tokens=SEQ_LEN * ppm // 100_000,
        )
        for name, ppm in SOURCES.items()
    )
    return StepSample(
        step=step,
        time=time.time() if at is None else at,
        waits_s=(0.001, 0.002),
        tokens=SEQ_LEN * 10,
        total_tokens=SEQ_LEN * 10 * (step + 1),
        queue_depth=2,
        bytes_read=SEQ_LEN * 20,
        revision=revision,
        sources=sources,
    )


def spool(root: Path, *, most_bytes: int = 64 << 20, job: str = "test") -> Spool:
    """The spool of a job under `root`."""
    return Spool(root, url="http://127.0.0.1:8400", project="default", job=job, most_bytes=most_bytes)


def wait_until(condition: Callable[[], object], within_s: float = 10.0) -> None:
    """Return when `condition` holds; fail after `within_s`."""
    deadline = time.monotonic() + within_s
    while not condition():
        assert time.monotonic() < deadline, f"not within {within_s} s"
        time.sleep(0.01)
