"""Object storage: how long ten thousand shards take to start, and whether a training loop ever waits.

    python -m benchmarks.remote [start] [wait] [--json]

start: 10,000 Headrace and 10,000 Parquet shards at 50 ms latency, without anything known, with what the machine
remembers, and with an index. wait: a loop that takes 1 M tokens a second at 100 ms latency and 5 % errors, and how
long it waits for data after its first 30 steps. The store is `benchmarks.s3_fake`, on loopback.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from headrace import Loader, Source
from headrace.cli import main
from headrace.formats.writer import ShardWriter
from headrace.manifest import read_manifest

from benchmarks.s3_fake import BUCKET

NUM_SHARDS = 10_000
TOKENS_PER_S = 1_000_000
SEQ_LEN = 4096
GLOBAL_BATCH = 64
MICRO_BATCH = 8
WARM_UP_STEPS = 30
STEPS = 120


@contextmanager
def store(folder: Path, **options: float) -> Iterator[str]:
    """The fake store over a folder, as a process of its own; the options to add to a URI."""
    words = [word for name, value in options.items() for word in (f"--{name.replace('_', '-')}", str(value))]
    command = [sys.executable, "-m", "benchmarks.s3_fake", str(folder), *words]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield f"?endpoint_override=127.0.0.1:{process.stdout.readline().strip()}&scheme=http"
        finally:
            process.terminate()


def measure_start(folder: Path) -> dict[str, float]:
    """Seconds to the manifest of 10,000 shards."""
    rng = np.random.default_rng(1)
    documents = [rng.integers(1, 50_000, 50, dtype=np.uint16) for _ in range(20)]
    (folder / "arrow").mkdir()
    (folder / "parquet").mkdir()
    with ShardWriter(folder / "arrow" / "a.arrow", dtype=np.uint16) as shard:
        shard.write(documents)
    pq.write_table(pa.table({"tokens": pa.array(documents, pa.list_(pa.uint16()))}), folder / "parquet" / "a.parquet")
    figures = {}
    for kind in ("arrow", "parquet"):
        with store(folder / kind, latency_ms=50, copies=NUM_SHARDS) as options:
            uri = f"s3://{BUCKET}/web{options}"
            figures |= _seconds(f"{kind}, nothing known", uri, None)
            figures |= _seconds(f"{kind}, remembered", uri, None)
            index = folder / f"{kind}.parquet"
            assert main(["index", uri, "-o", str(index)]) == 0
            shutil.rmtree(Path(os.environ["HEADRACE_CACHE"]) / "sources")
            figures |= _seconds(f"{kind}, with an index", uri, index)
    return figures


def _seconds(what: str, uri: str, index: Path | None) -> dict[str, float]:
    """By the clock, and of processor time in this process, which says what a busy machine adds."""
    began, worked = time.perf_counter(), time.process_time()
    assert len(read_manifest("web", uri, index=index).shards) == NUM_SHARDS
    return {f"{what}, s": time.perf_counter() - began, f"{what}, CPU s": time.process_time() - worked}


def measure_wait(folder: Path) -> dict[str, float]:
    """Milliseconds that a loop of 1 M tokens a second waits for a micro-batch, after its first steps."""
    rng = np.random.default_rng(1)
    (folder / "wait" / "web").mkdir(parents=True)
    for number in range(16):
        with ShardWriter(folder / "wait" / "web" / f"{number:05}.arrow", dtype=np.uint16) as shard:
            shard.write(rng.integers(1, 50_000, size, dtype=np.uint16) for size in rng.integers(200, 1800, 4000))
    pause_s = MICRO_BATCH * SEQ_LEN / TOKENS_PER_S
    waits = []
    with store(folder / "wait", latency_ms=100, errors=0.05) as options:
        loader = Loader(
            [Source("web", f"s3://{BUCKET}/web{options}")],
            seq_len=SEQ_LEN,
            global_batch_size=GLOBAL_BATCH,
            micro_batch_size=MICRO_BATCH,
            seed=1,
            eos_id=0,
            cache_bytes=128 << 20,
        )
        with loader:
            due = time.perf_counter()
            for _ in range((WARM_UP_STEPS + STEPS) * GLOBAL_BATCH // MICRO_BATCH):
                began = time.perf_counter()
                next(loader)
                waits.append(time.perf_counter() - began)
                due = max(due + pause_s, time.perf_counter())
                time.sleep(max(0.0, due - time.perf_counter()))
            (remote,) = {manifest.root.remote for manifest in loader.manifests}
    assert remote is not None
    measured = np.array(waits[WARM_UP_STEPS * GLOBAL_BATCH // MICRO_BATCH :]) * 1000
    return {
        "tokens": float(len(measured) * MICRO_BATCH * SEQ_LEN),
        "MB fetched": remote.bytes_fetched / 1e6,
        "wait, mean ms": float(measured.mean()),
        "wait, largest ms": float(measured.max()),
        "waits over 5 ms": float((measured > 5).sum()),
        "share of time waited": float(measured.sum() / 1000 / (len(measured) * pause_s)),
    }


def run(chosen: list[str]) -> dict[str, dict[str, float]]:
    """The chosen figures."""
    credentials = {"AWS_ACCESS_KEY_ID": "x", "AWS_SECRET_ACCESS_KEY": "x", "AWS_EC2_METADATA_DISABLED": "true"}
    os.environ.update(credentials)
    figures = {}
    for name in chosen:
        with tempfile.TemporaryDirectory() as folder:
            os.environ["HEADRACE_CACHE"] = f"{folder}/cache"
            figures[name] = {"start": measure_start, "wait": measure_wait}[name](Path(folder))
    return figures


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("figures", nargs="*", choices=("start", "wait", []), default=[])
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    measured = run(given.figures or ["start", "wait"])
    if given.json:
        print(json.dumps(measured))
    else:
        for name, values in measured.items():
            for what, value in values.items():
                print(f"{name:<8}{what:<32}{value:>14,.3f}")
