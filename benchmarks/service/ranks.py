"""Ranks of a job, each a process with the loader's own telemetry and a loop that steps ten times a second."""

from __future__ import annotations

import multiprocessing
import time
from dataclasses import dataclass, replace
from multiprocessing.queues import Queue
from multiprocessing.sharedctypes import Synchronized
from pathlib import Path

from headrace.telemetry.connect import connect

from tests.loader.telemetry.ranks import DESCRIPTION, identity, sample

STEP_S = 0.1
SPAWN = multiprocessing.get_context("spawn")


@dataclass(frozen=True)
class Told:
    """What a rank's loop saw."""

    steps: int
    tokens: int
    longest_ms: float
    "of a call that hands a step to telemetry"


class Ranks:
    """`num_ranks` processes that report to `url` until they are told to end."""

    def __init__(self, num_ranks: int, cache: Path, url: str, key: str, attempt: str) -> None:
        self._end = SPAWN.Event()
        self._queue: Queue[Told] = SPAWN.Queue()
        self.steps: list[Synchronized[int]] = [SPAWN.Value("q", 0) for _ in range(num_ranks)]
        self._processes = [
            SPAWN.Process(
                target=_run,
                args=(rank, num_ranks, cache, url, key, attempt, self.steps[rank], self._end, self._queue),
                daemon=True,
            )
            for rank in range(num_ranks)
        ]
        for process in self._processes:
            process.start()

    def end(self) -> list[Told]:
        """End their loops; what each saw."""
        self._end.set()
        told = [self._queue.get(timeout=60) for _ in self._processes]
        for process in self._processes:
            process.join(30)
        return told


def _run(
    rank: int,
    num_ranks: int,
    cache: Path,
    url: str,
    key: str,
    attempt: str,
    steps: Synchronized[int],
    end: multiprocessing.synchronize.Event,
    queue: Queue[Told],
) -> None:
    who = identity(rank, attempt=attempt, world_size=num_ranks)
    telemetry = connect(who, DESCRIPTION, job="outage", url=url, token=key, cache=cache)
    assert telemetry is not None
    step = tokens = 0
    longest = 0.0
    while not end.is_set():
        made = sample(step)
        made = replace(made, sources=tuple(replace(source, row=step) for source in made.sources))
        began = time.perf_counter()
        telemetry.step_ended(made)
        longest = max(longest, time.perf_counter() - began)
        tokens += made.tokens
        step += 1
        steps.value = step
        end.wait(STEP_S)
    telemetry.finish()
    queue.put(Told(step, tokens, 1000 * longest))
