"""The local engine: worker processes that share out the cores, each with as many threads as its tokenizer uses well,
or more where there are few units."""

from __future__ import annotations

import json
import os
import queue
import subprocess
import sys
import threading
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from headrace.errors import SourceError
from headrace.tokenize.engine import MAX_TRIES, Ended, Event, Job, Made, Progress, as_error
from headrace.tokenize.records import ShardRecord
from headrace.tokenize.units import Unit

_END_S: Final = 5.0
Heard = tuple["_Worker", dict[str, Any] | None]
"""What a worker said; None: nothing more, it has ended."""


def num_cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0))


def shares(cores: int, threads: int, units: int) -> list[int]:
    """The threads of each process: all `cores` among as few as have about `threads` each, and none without a unit."""
    processes = min(-(-cores // threads), units)
    return [cores // processes + (number < cores % processes) for number in range(processes)]


class LocalEngine:
    """See `Engine`; `workers` is how many cores are used, all by default, about `threads` of them by each process."""

    def __init__(self, workers: int | None = None, *, threads: int = 1) -> None:
        self._cores = workers or num_cores()
        self._threads = threads

    def run(self, job: Job, units: Sequence[Unit]) -> Iterator[Event]:
        """See `Engine.run`."""
        left = deque(units)
        tries: Counter[str] = Counter()
        heard: queue.SimpleQueue[Heard] = queue.SimpleQueue()
        workers = {_Worker(job, share, heard) for share in shares(self._cores, self._threads, len(units))}
        try:
            for worker in workers:
                worker.give(left.popleft())
            while workers:
                worker, said = heard.get()
                if said is None:
                    workers.remove(worker)
                    unit, status = worker.unit, worker.end()
                    if unit is None:
                        continue
                    tries[unit.name] += 1
                    if tries[unit.name] == MAX_TRIES:
                        raise _died(unit, status)
                    again = _Worker(job, worker.threads, heard)
                    workers.add(again)
                    again.give(unit)
                elif said["event"] == "failed":
                    raise as_error(said["kind"], said["message"])
                else:
                    yield _event(said)
                    if said["event"] == "ended":
                        worker.give(left.popleft() if left else None)
        finally:
            for worker in workers:
                worker.end()


def _event(said: dict[str, Any]) -> Event:
    if said["event"] == "progress":
        return Progress(said["unit"], said["tokens"], said["bytes"])
    if said["event"] == "made":
        return Made(said["unit"], ShardRecord.decode(json.dumps(said["record"]).encode()))
    return Ended(said["unit"])


def _died(unit: Unit, status: int) -> SourceError:
    how = f"by signal {-status}" if status < 0 else f"with status {status}"
    hint = "; where memory ran out, use fewer --workers" if status == -9 else ""
    return SourceError(
        f"the worker on unit {unit.name} (from {unit.parts[0].input('').name} on) ended {how}, {MAX_TRIES} times"
        f"{hint}; what is finished is kept"
    )


class _Worker:
    """A worker process and the thread that listens to it."""

    def __init__(self, job: Job, threads: int, heard: queue.SimpleQueue[Heard]) -> None:
        self.unit: Unit | None = None
        self.threads = threads
        command = [sys.executable, "-m", "headrace.tokenize.worker", job.output, job.on_bad, str(threads)]
        command.append(str(os.getpid()))
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=_environment(threads),
            text=True,
            encoding="utf-8",
        )
        threading.Thread(target=self._listen, args=(heard,), name="headrace-tokenize", daemon=True).start()

    def give(self, unit: Unit | None) -> None:
        """The next unit; None: there is none, so it may end."""
        self.unit = unit
        assert self._process.stdin is not None
        try:
            if unit is None:
                self._process.stdin.close()
            else:
                self._process.stdin.write(json.dumps(unit.record()) + "\n")
                self._process.stdin.flush()
        except BrokenPipeError:  # it has died, which its listener tells
            pass

    def end(self) -> int:
        """Ends it, if it still runs; its exit status."""
        assert self._process.stdin is not None
        self._process.terminate()
        with suppress(BrokenPipeError):
            self._process.stdin.close()
        try:
            return self._process.wait(_END_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            return self._process.wait()

    def _listen(self, heard: queue.SimpleQueue[Heard]) -> None:
        assert self._process.stdout is not None
        with self._process.stdout as lines:
            for line in lines:
                if line.endswith("\n"):  # a dying worker's last line may be cut
                    heard.put((self, json.loads(line)))
        self._process.wait()
        heard.put((self, None))


def _environment(threads: int) -> dict[str, str]:
    """One worker uses `threads` cores and no more, and imports this very package."""
    package = str(Path(__file__).parents[2])
    paths = [package, *filter(None, [os.environ.get("PYTHONPATH")])]
    return {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(paths),
        "TOKENIZERS_PARALLELISM": "true" if threads > 1 else "false",
        "RAYON_NUM_THREADS": str(threads),
        "OMP_NUM_THREADS": str(threads),
    }
