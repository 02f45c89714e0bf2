"""Running a driver: one process a rank, each in the environment of its loader, with a limit of time."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from benchmarks.loaders.entries import Entry
from benchmarks.loaders.environments import python_of

ROOT = Path(__file__).parents[2]
_SAID = 1200
"characters of what a failed driver said that are kept"


class Bench:
    """Runs drivers over one corpus."""

    def __init__(self, corpus: Path) -> None:
        self.corpus = corpus

    def prepared(self, entry: Entry) -> Path:
        """Where what was made of the corpus for a driver lies."""
        return self.corpus / "prepared" / "-".join((entry.driver, *entry.variables.values()))

    def run(
        self, entry: Entry, mode: str, *, world_size: int = 1, limit_s: float = 120.0, **options: Any
    ) -> list[dict[str, Any]]:
        """What each rank printed; one that failed or took too long gives `{"error": …}`."""
        with tempfile.TemporaryDirectory(prefix="headrace-bench-") as folder:
            started = [
                self._start(entry, mode, options, _of_rank(rank, world_size, port), Path(folder) / str(rank))
                for port in [_free_port()]
                for rank in range(world_size)
            ]
            until = time.monotonic() + limit_s
            return [_wait(process, until, limit_s, Path(folder) / str(rank)) for rank, process in enumerate(started)]

    def _start(
        self, entry: Entry, mode: str, options: Mapping[str, Any], rank: Mapping[str, str], said: Path
    ) -> subprocess.Popen[bytes]:
        command = [str(python_of(entry.environment)), "-m", f"benchmarks.loaders.drivers.{entry.driver}", mode]
        command += ["--corpus", str(self.corpus), "--prepared", str(self.prepared(entry))]
        command += ["--began", repr(time.time())]
        for name, value in options.items():
            command += [f"--{name.replace('_', '-')}", str(value)]
        kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
        environment = (
            kept
            | {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1", "TMPDIR": str(said.parent)}
            | entry.variables
            | rank
        )
        with said.with_suffix(".out").open("wb") as out, said.with_suffix(".err").open("wb") as err:
            return subprocess.Popen(command, stdout=out, stderr=err, env=environment, cwd=ROOT, start_new_session=True)


def import_torch_s(entry: Entry) -> float:
    """Seconds from starting a process of the loader's environment until torch is imported."""
    began = time.time()
    code = "import torch, time; print(time.time())"
    done = subprocess.run([python_of(entry.environment), "-c", code], capture_output=True, text=True, check=True)
    return float(done.stdout) - began


def _of_rank(rank: int, world_size: int, port: int) -> dict[str, str]:
    if world_size == 1:
        return {}
    names = {"RANK": rank, "LOCAL_RANK": rank, "WORLD_SIZE": world_size, "LOCAL_WORLD_SIZE": world_size}
    return {name: str(value) for name, value in names.items()} | {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _wait(process: subprocess.Popen[bytes], until: float, limit_s: float, said: Path) -> dict[str, Any]:
    """The last line of JSON; ends the whole session of a process, which leaves workers now and then."""
    try:
        code: int | None = process.wait(max(0.0, until - time.monotonic()))
    except subprocess.TimeoutExpired:
        code = None
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    if code is None:
        return {"error": f"not done within {limit_s:g} s"}
    lines = [line for line in said.with_suffix(".out").read_text().splitlines() if line.startswith("{")]
    if lines:
        told: dict[str, Any] = json.loads(lines[-1])
        return told
    complaint = said.with_suffix(".err").read_text(errors="replace").strip()
    return {"error": f"exit {code}: {complaint[-_SAID:]}"}
