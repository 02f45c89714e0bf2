"""A cold process up to its first batch, by phase; and what the imports are made of."""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
from collections import Counter
from typing import Any

from headrace.bench.child import cold_environment
from headrace.bench.workload import Workload

from benchmarks.corpus import VOCAB_SIZE
from benchmarks.profiles.works import arrow_sources

PHASES = """
import sys, time
text = sys.stdin.read()
began = time.perf_counter()
import torch
torch_s = time.perf_counter()
import headrace
headrace.Loader
imported_s = time.perf_counter()
from headrace.bench.workload import Workload
with Workload.from_json(text).loader() as loader:
    made_s = time.perf_counter()
    next(loader)
    first_s = time.perf_counter()
import json
marks = (began, torch_s, imported_s, made_s, first_s)
print(json.dumps([b - a for a, b in zip(marks, marks[1:])]))
"""
NAMES = ("import torch", "import headrace", "open the sources", "first batch")


def measure(rounds: int) -> dict[str, Any]:
    """Medians of the seconds of each phase, kernels and bytecode in their caches; and import seconds by library."""
    text = Workload(arrow_sources(), eos_id=0, vocab_size=VOCAB_SIZE).to_json()
    environment = cold_environment()

    def phases() -> list[float]:
        done = subprocess.run(
            [sys.executable, "-c", PHASES], input=text, env=environment, capture_output=True, text=True, check=True
        )
        return list(map(float, json.loads(done.stdout)))

    phases()  # compiles what is not cached
    found = [phases() for _ in range(rounds)]
    medians = [statistics.median(column) for column in zip(*found, strict=True)]
    return {"phases_s": dict(zip(NAMES, medians, strict=True)), "imports_s": _imports(environment)}


def _imports(environment: dict[str, str]) -> dict[str, float]:
    """Seconds of the imports after torch's, by the library they belong to; measured, so longer than without."""
    script = "import torch; import headrace; headrace.Loader"
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-c", script], env=environment, capture_output=True, text=True, check=True
    )
    rows = [line.removeprefix("import time:").split("|") for line in done.stderr.splitlines() if "|" in line]
    after = next(number for number, row in enumerate(rows) if row[-1].rstrip() == " torch") + 1
    sums: Counter[str] = Counter()
    for own, _, name in rows[after:]:
        sums[name.strip().split(".")[0]] += int(own)
    return {name: micros / 1e6 for name, micros in sums.most_common(8)}
