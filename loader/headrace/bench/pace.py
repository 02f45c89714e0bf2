"""A training loop at a given pace: how long it waits for data, and what the loader takes from it."""

from __future__ import annotations

import statistics
import time

from headrace.loader import Loader

_UNIT = 1000
"turns of the loop between two looks at the clock"

_BATCHES_A_TURN = 4
"batches that a loop takes before the same work is timed alone again"


def wait_share(loader: Loader, batch_s: float, seconds: float) -> float:
    """Part of its time that a loop waits for batches which rests for `batch_s` after each, as for a device.

    The first batches, which may be ready from before, count like any other.
    """
    waited, began, batches = 0.0, time.perf_counter(), 0
    while time.perf_counter() - began < seconds or batches < 2:
        asked = time.perf_counter()
        next(loader)
        waited += time.perf_counter() - asked
        time.sleep(batch_s)
        batches += 1
    return waited / (time.perf_counter() - began)


def python_slowdown(loader: Loader, batch_s: float, seconds: float) -> float:
    """How much longer pure Python takes beside the loader than alone, at a batch every `batch_s`; 0.05 is 5 %.

    It holds the GIL as a script does. Alone means that the loader has prepared all it may, and rests. Both are timed in
    turn, and medians compared, so that a machine that is busy with something else blurs the figure less.
    """
    turns = _turns_in(batch_s)
    beside: list[float] = []
    alone: list[float] = []
    began = time.perf_counter()
    while time.perf_counter() - began < 2 * seconds or len(alone) < 3:
        for _ in range(_BATCHES_A_TURN):
            next(loader)
            beside.append(_timed(turns))
        time.sleep(batch_s)
        alone.append(_timed(turns))
    return statistics.median(beside) / statistics.median(alone) - 1


def _work(turns: int) -> None:
    value = 1
    for _ in range(turns):
        value = (value * 69069 + 1) & 0xFFFFFFFF


def _timed(turns: int) -> float:
    began = time.perf_counter()
    _work(turns)
    return time.perf_counter() - began


def _turns_in(seconds: float) -> int:
    """Turns of `_work` that take about `seconds` now."""
    began, turns = time.perf_counter(), 0
    while time.perf_counter() - began < seconds:
        _work(_UNIT)
        turns += _UNIT
    return turns
