"""A cold process: what start-up and memory are to a job, with everything imported and opened for the first time.

Run as `python -m headrace.bench.child SECONDS` with a `Workload` on standard input; prints `Cold` as JSON.
"""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
import time
from dataclasses import asdict, dataclass

from headrace.errors import HeadraceError


@dataclass(frozen=True, slots=True)
class Cold:
    """Figures of a fresh process."""

    first_batch_s: float
    "from after `import torch` to the first batch, kernels in the cache"
    peak_own_bytes: int
    "private memory at its highest, above that of the interpreter with torch"
    peak_mapped_bytes: int
    "pages of mapped files at their highest, above those of the interpreter with torch"


def start_cold(workload_json: str, seconds: float) -> Cold:
    """Run the child for about `seconds` of loading.

    Raises:
        HeadraceError: it failed, with what it said.
    """
    command = [sys.executable, "-m", "headrace.bench.child", str(seconds)]
    done = subprocess.run(
        command, input=workload_json, env=cold_environment(), capture_output=True, text=True, check=False
    )
    if done.returncode:
        said = done.stderr.strip().splitlines() or [f"it ended with status {done.returncode}"]
        raise HeadraceError(f"a fresh process could not load: {said[-1]}")
    return Cold(**json.loads(done.stdout))


def cold_environment() -> dict[str, str]:
    """This process's environment, for one whose start is measured.

    An installed package has its bytecode; a checkout gets it on its first run, unless Python may not keep any.
    """
    return {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}


def main() -> None:
    """Measure this process."""
    text, seconds = sys.stdin.read(), float(sys.argv[1])
    import torch  # noqa: F401, PLC0415  # before the clock starts

    from headrace.bench.memory import memory_now  # noqa: PLC0415

    before = memory_now()
    began = time.perf_counter()
    importlib.import_module("headrace").Loader  # noqa: B018  # as a script does: with the collector at rest
    from headrace.bench.workload import Workload  # noqa: PLC0415

    with Workload.from_json(text).loader() as loader:
        next(loader)
        first_batch_s = time.perf_counter() - began
        seen = [memory_now()]
        while time.perf_counter() - began < first_batch_s + seconds:
            next(loader)
            seen.append(memory_now())
    own = max(memory.own for memory in seen) - before.own
    mapped = max(memory.mapped for memory in seen) - before.mapped
    print(json.dumps(asdict(Cold(first_batch_s, own, mapped))))


if __name__ == "__main__":
    main()
