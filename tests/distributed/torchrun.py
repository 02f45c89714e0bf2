"""Starting real jobs: `torchrun` on this machine, gloo, one JSON file of orders, one line of JSON a rank and step."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]

TIMEOUT_S = 150


@dataclass
class Orders:
    """What `scripts/stream.py` does on every rank."""

    folder: str
    "where each rank writes `rank-<rank>.jsonl`, and rank 0 `state-<step>.json` after every step"
    sources: list[tuple[str, str, float]]
    "(name, path, weight)"
    num_steps: int
    options: dict[str, Any] = field(default_factory=dict)
    rank_options: dict[str, dict[str, Any]] = field(default_factory=dict)
    "further options of single ranks, by rank"
    resume: str | None = None
    "a state file, or a folder whose newest is taken"
    peers: int = 1
    "ranks that share each data rank"
    mesh: bool = False
    "give the data-parallel dimension of a mesh of (data ranks, peers) too"
    all_reduce: bool = False
    "keep ranks in step, as training does"
    naps_ms: list[float] = field(default_factory=list)
    "for each rank, the longest random pause after a step"
    weights_at: dict[str, tuple[dict[str, float], int]] = field(default_factory=dict)
    "step → (weights, ramp steps) for set_weights on every rank"
    kill: dict[str, int] = field(default_factory=dict)
    "rank → step within which it is killed, on the first attempt"
    hold_at: list[int] = field(default_factory=list)
    "steps before which rank 0, and with `all_reduce` every rank, waits for a file `go-<step>`"
    leave_every: int = 0
    "leave the loop after so many steps, and enter it again"
    save_at: dict[str, str] = field(default_factory=dict)
    "step → `save` or `async_save`: a distributed checkpoint with model and optimiser, in `<folder>/<step>`"
    load: str | None = None
    "a distributed checkpoint to begin from"


@dataclass(frozen=True)
class Outcome:
    """How a job ended."""

    code: int
    text: str
    ranks: list[list[dict[str, Any]]]
    "for each rank, its steps"

    def steps(self) -> list[list[str]]:
        """For each step, the sorted hashes of its sequences over all ranks."""
        assert self.code == 0, self.text
        assert len({len(rank) for rank in self.ranks}) == 1
        return [sorted(h for rank in self.ranks for h in rank[n]["sequences"]) for n in range(len(self.ranks[0]))]


def torchrun(script: str, folder: Path, num_ranks: int, orders: Any, *, max_restarts: int = 0) -> Outcome:
    """Run `scripts/<script>.py` on `num_ranks` ranks until it ends."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "orders.json").write_text(json.dumps(asdict(orders) if isinstance(orders, Orders) else orders))
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={num_ranks}"]
    command += [f"--max-restarts={max_restarts}", "--monitor-interval=0.1"]
    command += ["-m", f"tests.distributed.scripts.{script}", str(folder / "orders.json")]
    foreign = ("RANK", "WORLD_SIZE", "HEADRACE_JOB")
    environment = {name: value for name, value in os.environ.items() if name not in foreign}
    with (folder / "log.txt").open("wb") as log:
        job = subprocess.Popen(command, stdout=log, stderr=log, cwd=ROOT, env=environment | {"OMP_NUM_THREADS": "1"})
        try:
            code = job.wait(TIMEOUT_S)
        finally:
            job.terminate()  # torchrun takes its ranks with it
            job.wait()
    ranks = [lines(folder / f"rank-{rank}.jsonl") for rank in range(num_ranks)]
    return Outcome(code, (folder / "log.txt").read_text(errors="replace"), ranks)


def lines(path: Path) -> list[dict[str, Any]]:
    """The whole lines of a file of JSON."""
    if not path.exists():
        return []
    # A rank that was killed may leave half a line.
    return [json.loads(line) for line in path.read_text().splitlines(keepends=True) if line.endswith("\n")]
