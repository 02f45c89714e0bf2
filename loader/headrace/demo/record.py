"""What each rank of the training script writes down, and how it is read again.

    rank<r>.jsonl    of the newest run, a line for each step: what this rank saw of it (`StepRecord`)
    results.jsonl    a line for each run, by rank 0: steps, tokens, tokens_per_s, loss_first, loss_last, validation_loss

Ranks write independently of each other and of the control plane, so that what they saw can be compared.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from headrace.mix import PPM, weights_at
from headrace.state import revisions_of

if TYPE_CHECKING:
    from headrace import Batch, Loader

_EVERY_STEPS = 10
"steps between two lines of progress"


@dataclass(frozen=True)
class StepRecord:
    """One step as one rank saw it."""

    step: int
    revision: str
    "of the mix in force, `config:1` or `service:2`"
    weights_ppm: Mapping[str, int]
    "in force at this step"
    sequences: Mapping[str, int]
    "delivered to this rank, by source"
    loss: float
    "over all ranks"


class Record:
    """Writes the records of one rank; rank 0 shows progress too."""

    def __init__(self, folder: Path, rank: int) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._folder = folder
        self._rank = rank
        self._file = (folder / f"rank{rank}.jsonl").open("w", buffering=1)
        self._sources: list[int] = []
        self._losses: list[float] = []
        self._ended: list[float] = []

    def __enter__(self) -> Record:
        """Closes its file at the end of the block."""
        return self

    def __exit__(self, *failure: object) -> None:
        self._file.close()

    def count(self, batch: Batch) -> None:
        """Add a micro-batch to the step under way."""
        self._sources += batch.source.tolist()

    def step(self, loader: Loader, step: int, loss: float) -> None:
        """Write down a finished step. The loader's state names the mix in force, the same on every rank."""
        log = revisions_of(loader.state_dict())
        counts = np.bincount(self._sources, minlength=len(loader.source_names))
        line = StepRecord(
            step=step,
            revision=log[-1].id,
            weights_ppm=weights_at(log, step, loader.source_names),
            sequences=dict(zip(loader.source_names, counts.tolist(), strict=True)),
            loss=loss,
        )
        self._file.write(json.dumps(asdict(line)) + "\n")
        self._sources.clear()
        self._losses.append(loss)
        self._ended.append(time.perf_counter())
        if self._rank == 0 and step % _EVERY_STEPS == 0:
            mix = " ".join(f"{name} {100 * ppm / PPM:.0f}%" for name, ppm in line.weights_ppm.items())
            print(f"step {step:>5}  loss {loss:.3f}  {self._steps_per_s():.1f} steps/s  {mix}", flush=True)

    def result(self, validation: Mapping[str, float], tokens_a_step: int) -> None:
        """Append the run's result and print it, on rank 0 and after at least one step."""
        if self._rank == 0 and self._losses:
            line = {
                "steps": len(self._losses),
                "tokens": len(self._losses) * tokens_a_step,
                "tokens_per_s": round(self._steps_per_s() * tokens_a_step, 1),
                "loss_first": round(self._losses[0], 4),
                "loss_last": round(self._losses[-1], 4),
                "validation_loss": dict(validation),
            }
            with (self._folder / "results.jsonl").open("a") as file:
                file.write(json.dumps(line) + "\n")
            print(json.dumps(line), flush=True)

    def _steps_per_s(self) -> float:
        """Over the steps after the first, which compiles and warms up; 0 before the second has ended."""
        seconds = self._ended[-1] - self._ended[0]
        return (len(self._ended) - 1) / seconds if seconds else 0.0


def read_ranks(folder: Path, num_ranks: int) -> dict[int, list[StepRecord]]:
    """By rank: every whole line of its file, in the order of the steps."""
    found: dict[int, list[StepRecord]] = {}
    for rank in range(num_ranks):
        path = folder / f"rank{rank}.jsonl"
        lines = path.read_text().splitlines(keepends=True) if path.exists() else []
        found[rank] = [StepRecord(**json.loads(line)) for line in lines if line.endswith("\n")]
    return found


def read_result(folder: Path) -> dict[str, Any] | None:
    """The newest run's result, or None where there is none."""
    path = folder / "results.jsonl"
    lines = path.read_text().splitlines() if path.exists() else []
    return json.loads(lines[-1]) if lines else None
