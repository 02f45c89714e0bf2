"""The Ray engine: each unit is a Ray task, which Ray tries again where its worker dies. Nothing but records is passed.

Text and ids go from the inputs to the folder within one task; the object store sees units, records and numbers.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from functools import lru_cache
from typing import Any, Final

from headrace.errors import ConfigError, HeadraceError, SourceError
from headrace.tokenize.encoders.found import missing_library
from headrace.tokenize.engine import MAX_TRIES, Ended, Event, Job, Made, Progress, as_error, open_workplace, work
from headrace.tokenize.records import ShardRecord
from headrace.tokenize.units import Unit
from headrace.tokenize.work import Workplace

_POLL_S: Final = 0.2

try:
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    import ray
except ImportError as error:
    raise missing_library("ray") from error


class RayEngine:
    """See `Engine`; on the cluster at `address`, on the one that is connected to, or on one of this machine alone.

    `workers` is how many units are worked on at once, as many as there are cores by default. All machines must see the
    folder and the inputs, and have headrace installed.
    """

    def __init__(self, address: str | None = None, workers: int | None = None) -> None:
        self._address = address
        self._workers = workers

    def run(self, job: Job, units: Sequence[Unit]) -> Iterator[Event]:
        """See `Engine.run`."""
        own = not ray.is_initialized()
        if own:
            self._connect()
        try:
            yield from _run(job, units, self._workers or _num_cores())
        finally:
            if own:
                ray.shutdown()

    def _connect(self) -> None:
        try:
            ray.init(address=self._address, num_cpus=None if self._address else self._workers, log_to_driver=False)
        except (ConnectionError, ValueError, RuntimeError) as error:
            raise ConfigError(f"--ray-address {self._address}: no Ray answers there ({error})") from error


def _run(job: Job, units: Sequence[Unit], at_once: int) -> Iterator[Event]:
    board: Any = ray.remote(num_cpus=0)(_Board).remote()
    task = ray.remote(num_cpus=1, max_retries=MAX_TRIES - 1)(_task)
    left = list(reversed(units))
    running: dict[Any, Unit] = {}
    try:
        while left or running:
            while left and len(running) < at_once:
                unit = left.pop()
                running[task.options(name=f"tokenize {unit.name}").remote(asdict(job), unit.record(), board)] = unit
            ended, _ = ray.wait(list(running), num_returns=1, timeout=_POLL_S)
            for name, tokens, text_bytes, encoded in _news(board):
                yield Progress(name, tokens, text_bytes) if encoded is None else Made(name, ShardRecord.decode(encoded))
            for reference in ended:
                yield from _outcome(running.pop(reference), reference)
    finally:
        for reference in running:
            ray.cancel(reference, force=True)
        ray.kill(board)


def _num_cores() -> int:
    resources: dict[str, float] = ray.cluster_resources()  # type: ignore[no-untyped-call]  # it says nothing of itself
    return max(1, int(resources.get("CPU", 1)))


def _news(board: Any) -> list[tuple[str, int, int, bytes | None]]:
    try:
        return list(ray.get(board.take.remote()))
    except ray.exceptions.RayActorError:  # without its board a run shows less on the way, and is the same
        return []


def _outcome(unit: Unit, reference: Any) -> Iterator[Event]:
    try:
        failed, encoded = ray.get(reference)
    except ray.exceptions.RayError as error:
        raise SourceError(
            f"the Ray task of unit {unit.name} (from {unit.parts[0].input('').name} on) died {MAX_TRIES} times "
            f"({str(error).splitlines()[0]}); what is finished is kept"
        ) from error
    if failed is not None:
        raise as_error(*failed)
    for content in encoded:
        yield Made(unit.name, ShardRecord.decode(content))
    yield Ended(unit.name)


class _Board:
    """What tasks have done since it was last asked."""

    def __init__(self) -> None:
        self._news: list[tuple[str, int, int, bytes | None]] = []

    def put(self, unit: str, tokens: int, text_bytes: int, encoded: bytes | None) -> None:
        """Adds a line."""
        self._news.append((unit, tokens, text_bytes, encoded))

    def take(self) -> list[tuple[str, int, int, bytes | None]]:
        """All lines, which are gone then."""
        news, self._news = self._news, []
        return news


def _task(job: dict[str, Any], unit: dict[str, Any], board: Any) -> tuple[tuple[str, str] | None, list[bytes]]:
    """What went wrong, as kind and message, and the records of the shards that this task made."""
    made: list[bytes] = []
    last = [time.monotonic(), 0, 0]

    def tell(event: Event) -> None:
        if isinstance(event, Made):
            made.append(event.record.encode())
            board.put.remote(event.unit, 0, 0, made[-1])
        elif isinstance(event, Progress):
            last[1] += event.tokens
            last[2] += event.text_bytes
            if time.monotonic() - last[0] > 1:
                board.put.remote(event.unit, int(last[1]), int(last[2]), None)
                last[:] = [time.monotonic(), 0, 0]

    try:
        work(_workplace(job["output"]), Job(**job), Unit.of(unit), tell)
    except HeadraceError as error:
        return (type(error).__name__, str(error)), made
    return None, made


@lru_cache(maxsize=1)
def _workplace(output: str) -> Workplace:
    """Kept between the tasks of one worker process."""
    return open_workplace(output, 1)
