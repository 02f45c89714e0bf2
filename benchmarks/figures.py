"""The figures beside throughput: start-up, resume, memory, planning, a huge source, the GIL.

    python -m benchmarks.figures [start resume memory planning synthetic gil] [--json]

Each is measured in turn, some in processes of their own, and printed with what it should be at most on a quiet machine
of two cores. Corpora are made once, under the cache.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass

import numpy as np
from headrace.bench.child import start_cold
from headrace.bench.measure import measure_starts
from headrace.bench.pace import python_slowdown
from headrace.bench.workload import Workload
from headrace.cache import cache_root
from headrace.config import Source
from headrace.courses import Courses, Orders
from headrace.legs import Leg, LegRecord, Stretch
from headrace.manifest import read_manifest
from headrace.mix import PPM
from headrace.order import SourceOrder
from headrace.plan import Position, plan_step

from benchmarks.corpus import VOCAB_SIZE, WEIGHTS, make_corpus, make_shards

SHARDS = 1000
TOKENS = 100_000_000
PACE = 1e6
"tokens a second"


@dataclass(frozen=True)
class Figure:
    """One number."""

    name: str
    value: float
    unit: str
    at_most: float


def _mixed() -> Workload:
    """Three sources, and every tensor, at the defaults."""
    folder = cache_root() / "bench" / f"{TOKENS}-1000"
    make_corpus(folder, num_tokens=TOKENS, mean_tokens=1000)
    sources = tuple(Source(source, str(folder / source), weight) for source, weight in WEIGHTS.items())
    return Workload(sources=sources, eos_id=0, vocab_size=VOCAB_SIZE)


def start() -> Iterator[Figure]:
    """From after `import torch` to the first batch, in a fresh process with the kernels cached, on many shards."""
    folder = cache_root() / "bench" / f"{SHARDS}-shards"
    make_shards(folder, num_shards=SHARDS, num_tokens=100_000, mean_tokens=1000)
    text = Workload(sources=(Source("all", str(folder)),), eos_id=0, vocab_size=VOCAB_SIZE).to_json()
    start_cold(text, 0.0)  # compiles what is not cached
    script = "import time; began = time.perf_counter(); import torch; print(time.perf_counter() - began)"
    torch_s, took = [], []
    for _ in range(5):
        done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
        torch_s.append(float(done.stdout))
        took.append(start_cold(text, 0.0).first_batch_s)
    yield Figure("import torch alone, for scale", statistics.median(torch_s), "s", math.inf)
    yield Figure(f"after it, first batch of {SHARDS} shards, median of 5", statistics.median(took), "s", 0.5)
    yield Figure("the same, best of 5", min(took), "s", 0.5)


def resume() -> Iterator[Figure]:
    """A loader that goes on at step 10,000,000 against one that begins."""
    fresh, resumed = measure_starts(_mixed())
    yield Figure("resume at step 10,000,000 / fresh start", resumed / fresh, "", 1.2)


def memory() -> Iterator[Figure]:
    """Of a process that loads as fast as it can, beyond the interpreter with torch."""
    cold = start_cold(_mixed().to_json(), 5.0)
    yield Figure("peak memory of its own", cold.peak_own_bytes / 2**20, "MiB", 300)
    yield Figure("mapped pages at their peak", cold.peak_mapped_bytes / 2**20, "MiB", math.inf)


def planning() -> Iterator[Figure]:
    """What every rank does for each step, whatever its share: a global batch of 4,096 from 50 sources."""
    courses = courses_of(50)
    weights = np.full(50, PPM // 50)
    position = plan_step(Position.start(50), weights, 4096, courses).after
    took = []
    for _ in range(200):
        began = time.perf_counter()
        position = plan_step(position, weights, 4096, courses).after
        took.append(time.perf_counter() - began)
    yield Figure("planning a step, G = 4096, 50 sources", 1000 * statistics.median(took), "ms", 5)


def synthetic() -> Iterator[Figure]:
    """See `benchmarks.synthetic`."""
    command = [sys.executable, "-m", "benchmarks.synthetic"]
    found = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    yield Figure("10^7 blocks, 10^14 tokens: start, plan, seek, plan", found["all_s"], "s", 4)
    yield Figure("its peak memory", found["peak_bytes"] / 2**20, "MiB", 1024)
    yield Figure("its state", found["state_bytes"], "bytes", 4096)


def gil() -> Iterator[Figure]:
    """How much longer pure Python takes beside a loader that delivers a million tokens a second."""
    workload = _mixed()
    with workload.loader() as loader:
        next(loader)
        slower = python_slowdown(loader, workload.micro_batch * workload.seq_len / PACE, 10.0)
    yield Figure("slowdown of pure Python at 1 M tokens/s", 100 * slower, "%", 5)


def courses_of(num_sources: int) -> Courses:
    """Sources of uneven sizes, each in one leg, of which nothing but the order is used."""
    random = np.random.default_rng(num_sources)
    folder = cache_root() / "bench" / "100000-1000"
    make_corpus(folder, num_tokens=100_000, mean_tokens=1000)
    manifest = read_manifest("any", folder / "math")
    legs = []
    for source in range(num_sources):
        order = SourceOrder(
            seed=1,
            name=f"s{source}",
            seq_len=4096,
            lanes=512,
            block_tokens=random.integers(1 << 17, 1 << 18, 200 if source % 2 else 20_000),
        )
        stretch = Stretch(lambda order=order: order, 1 << 60, 0, None, 0)
        legs.append(Leg(source, LegRecord("whole", 4096, ((0, 1),)), manifest, 0, stretch))
    return Courses(legs, Orders(legs))


FIGURES: tuple[Callable[[], Iterator[Figure]], ...] = (start, resume, memory, planning, synthetic, gil)


def main() -> None:
    """Measure those that were asked for, by default all."""
    names = [figure.__name__ for figure in FIGURES]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(names)} (default: all)")
    parser.add_argument("--json", action="store_true", help="print one JSON object a line")
    args = parser.parse_args()
    for name in args.names:
        if name not in names:
            parser.error(f"no figure is called {name!r}; there are {', '.join(names)}")
    for measured in FIGURES:
        if args.names and measured.__name__ not in args.names:
            continue
        for figure in measured():
            bound = "" if figure.at_most == math.inf else f"at most {figure.at_most:g}"
            shown = f"{figure.name:<55}{figure.value:>12,.3f} {figure.unit:<6}{bound}"
            print(json.dumps(asdict(figure)) if args.json else shown, flush=True)


if __name__ == "__main__":
    main()
