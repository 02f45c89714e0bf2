"""What was gained, before and after in one run: `python -m benchmarks.gains [--rounds 9]`.

The loader as it was is taken from the repository's history; each measurement is a process of its own, the two in turn.
Prints a table of docs/performance.md, and writes `benchmarks/results/gains.json`.
"""

from __future__ import annotations

import argparse
import io
import statistics
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from headrace.bench.child import cold_environment

from benchmarks import results

ROOT = Path(__file__).parents[1]
BEFORE = "765f5ddc09"
"the last commit without any of these"


@dataclass(frozen=True)
class Gain:
    """Something that takes less time than it did."""

    name: str
    script: str
    "prints seconds"


PLANNING = """
import statistics, time
import numpy as np
from headrace.mix import PPM
from headrace.order import SourceOrder
from headrace.plan import Position, plan_step

random = np.random.default_rng(1)
courses = [
    SourceOrder(seed=1, name=f"s{k}", seq_len=4096, lanes=512,
                block_tokens=random.integers(1 << 17, 1 << 18, 200 if k % 2 else 20_000))
    for k in range(50)
]
weights = WEIGHTS
weights[0] += PPM - weights.sum()
position, took = Position.start(50), []
for _ in range(100):
    began = time.perf_counter()
    position = plan_step(position, weights, 4096, courses).after
    took.append(time.perf_counter() - began)
print(statistics.median(took))
"""
EQUAL = "np.full(50, PPM // 50)"
SKEWED = "(PPM / np.arange(1, 51) / (1 / np.arange(1, 51)).sum()).astype(np.int64)"
IMPORT = """
import time
import torch
began = time.perf_counter()
import headrace
headrace.Loader
print(time.perf_counter() - began)
"""
STEPS = """
import tempfile, time
from pathlib import Path
import numpy as np
from headrace import Loader, Source
from headrace.formats.writer import ShardWriter

random = np.random.default_rng(1)
with tempfile.TemporaryDirectory() as folder:
    for source in ("web", "code", "math"):
        Path(folder, source).mkdir()
        for shard in range(4):
            with ShardWriter(Path(folder, source, f"{shard}.arrow"), dtype=np.uint16) as writer:
                writer.write([random.integers(1, 50_000, size, np.uint16) for size in random.integers(500, 1500, 2000)])
    sources = [Source("web", f"{folder}/web", 0.6), Source("code", f"{folder}/code", 0.3)]
    sources.append(Source("math", f"{folder}/math", 0.1))
    options = {"global_batch_size": 8, "micro_batch_size": 8, "seed": 1, "eos_id": 0, "prefetch": 0}
    with Loader(sources, seq_len=4096, job=None, rank=0, world_size=1, **options) as loader:
        batches = iter(loader)
        for _ in range(500):
            next(batches)
        began = time.perf_counter()
        for _ in range(5000):
            next(batches)
        print((time.perf_counter() - began) / 5000)
"""
GAINS = (
    Gain("a step of 8 sequences of 4,096 tokens", STEPS),
    Gain(
        "plan 4,096 sequences of 50 equal sources",
        PLANNING.replace("WEIGHTS", EQUAL),
    ),
    Gain(
        "plan 4,096 sequences of 50 sources, weights as 1/k",
        PLANNING.replace("WEIGHTS", SKEWED),
    ),
    Gain("import headrace, after torch", IMPORT),
)


def main() -> None:
    """Measure, print and write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=9, help="pairs of each (default: %(default)s)")
    parser.add_argument("--output", type=Path, help="file for the results")
    args = parser.parse_args()
    found = [measure(gain, args.rounds) for gain in GAINS]
    print("\n".join(table(found)))
    print(f"written to {results.write('gains', found, settings={'rounds': args.rounds}, output=args.output)}")


def measure(gain: Gain, rounds: int) -> dict[str, Any]:
    """Medians of the seconds before and after, and of their ratio pair by pair."""
    with tempfile.TemporaryDirectory() as folder:
        archive = subprocess.run(["git", "archive", BEFORE, "loader"], cwd=ROOT, capture_output=True, check=True)
        with tarfile.open(fileobj=io.BytesIO(archive.stdout)) as tar:
            tar.extractall(folder, filter="data")
        trees = (Path(folder) / "loader", ROOT / "loader")
        for tree in trees:
            _seconds(tree, gain.script)  # compiles what is not cached
        pairs = [(_seconds(trees[0], gain.script), _seconds(trees[1], gain.script)) for _ in range(rounds)]
    return {
        "name": gain.name,
        "before_s": statistics.median(before for before, _ in pairs),
        "after_s": statistics.median(after for _, after in pairs),
        "ratio": statistics.median(after / before for before, after in pairs),
    }


def _seconds(tree: Path, script: str) -> float:
    environment = {**cold_environment(), "PYTHONPATH": str(tree)}
    done = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=True)
    return float(done.stdout)


def table(found: list[dict[str, Any]]) -> Iterator[str]:
    """As Markdown."""
    yield "| gain | before | after | after / before |"
    yield "| --- | --- | --- | --- |"
    for one in found:
        before, after = 1000 * one["before_s"], 1000 * one["after_s"]
        yield f"| {one['name']} | {before:.2f} ms | {after:.2f} ms | {one['ratio']:.2f} |"


if __name__ == "__main__":
    main()
