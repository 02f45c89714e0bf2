"""Running a driver: one process a rank, each in the environment of its loader, with a limit of time."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from headrace.bench.child import cold_environment
from torch.distributed import TCPStore  # type: ignore[attr-defined]

from benchmarks.loaders.entries import Entry
from benchmarks.loaders.environments import python_of

ROOT = Path(__file__).parents[2]
_SAID = 300
"characters of the last line that a failed driver said that are kept"


class Bench:
    """Runs drivers over one corpus."""

    def __init__(self, corpus: Path) -> None:
        self.corpus = corpus

    def prepared(self, entry: Entry) -> Path:
        """Where what was made of the corpus for a driver lies."""
        return (
            self.corpus / "prepared" / "-".join((entry.driver, *(Path(one).name for one in entry.variables.values())))
        )

    def run(
        self, entry: Entry, mode: str, *, world_size: int = 1, limit_s: float = 120.0, **options: Any
    ) -> list[dict[str, Any]]:
        """What each rank printed; one that failed or took too long gives `{"error": …}`."""
        with tempfile.TemporaryDirectory(prefix="headrace-bench-") as folder:
            store = TCPStore("127.0.0.1", 0, is_master=True, wait_for_workers=False) if world_size > 1 else None
            port = store.port if store else 0
            started = [
                self._start(entry, mode, options, _of_rank(rank, world_size, port), Path(folder) / str(rank))
                for rank in range(world_size)
            ]
            until = time.monotonic() + limit_s
            return [_wait(process, until, limit_s, Path(folder) / str(rank)) for rank, process in enumerate(started)]

    def _start(
        self, entry: Entry, mode: str, options: Mapping[str, Any], rank: Mapping[str, str], said: Path
    ) -> subprocess.Popen[bytes]:
        command = [str(python_of(entry.environment)), "-m", f"benchmarks.loaders.drivers.{entry.driver}", mode]
        command += ["--corpus", str(self.corpus), "--prepared", str(self.prepared(entry))]
        for name, value in options.items():
            command += [f"--{name.replace('_', '-')}", str(value)]
        command += ["--began", repr(time.time())]
        environment = (
            cold_environment()
            | {"PYTHONPATH": _python_path(entry), "OMP_NUM_THREADS": "1", "TMPDIR": str(said.parent)}
            | entry.variables
            | (entry.rate_variables if mode == "rate" else {})
            | rank
        )
        with said.with_suffix(".out").open("wb") as out, said.with_suffix(".err").open("wb") as err:
            return subprocess.Popen(command, stdout=out, stderr=err, env=environment, cwd=ROOT, start_new_session=True)


def _python_path(entry: Entry) -> str:
    """The repository; Headrace itself may be from where the caller's is."""
    own = os.environ.get("PYTHONPATH", "") if entry.environment == "headrace" else ""
    return os.pathsep.join(filter(None, (str(ROOT), own)))


_BARE = """
import torch, numpy, time, json
now = time.time()
own = sum(int(x.split()[1]) for x in open("/proc/self/status") if x.startswith(("RssAnon", "RssShmem")))
print(json.dumps({"imported_at": now, "own_bytes": own * 1024}))
"""


def bare(environment: str) -> dict[str, float]:
    """A process that imports torch and numpy and nothing else: `import_s` since it was started, and its `own_bytes`."""
    began = time.time()
    done = subprocess.run([python_of(environment), "-c", _BARE], capture_output=True, text=True, check=True)
    told = json.loads(done.stdout)
    return {"import_s": told["imported_at"] - began, "own_bytes": told["own_bytes"]}


def _of_rank(rank: int, world_size: int, port: int) -> dict[str, str]:
    if world_size == 1:
        return {}
    # The store is here, as an agent's of torchrun.
    place = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "TORCHELASTIC_USE_AGENT_STORE": "True"}
    names = {"RANK": rank, "LOCAL_RANK": rank, "WORLD_SIZE": world_size, "LOCAL_WORLD_SIZE": world_size}
    return {name: str(value) for name, value in names.items()} | place


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
    complaint = said.with_suffix(".err").read_text(errors="replace").strip().splitlines()
    return {"error": f"exit {code}: {complaint[-1][:_SAID] if complaint else 'it said nothing'}"}
