"""How often ranks report under load: stretched by one factor for all jobs, up at once, down slowly.

The factor is shared by all processes on a database (a row of ``server_clock``): the largest that any of them asks for,
less what has faded since. It fades slower than ranks report, so that a rank that was told of a long interval is never
judged by a shorter one before it has reported again.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from .liveness import paced_interval_s

LEAST_S, MOST_S = 1.0, 60.0
MAX_STRETCH = MOST_S / LEAST_S
# The factor falls to 1/e in this time (seconds): twice the longest interval.
FADE_S = 2 * MOST_S
# Under load the factor grows by at most this much from one look to the next, some seconds later.
_GROWTH = 1.5
# Batches that take longer than this on average, with more than one in work, mean that the server is behind (seconds).
_SLOW_S = 1.0
# So does more than this share of the batches that may be in work at once.
_BUSY_SHARE = 0.25


@dataclass
class Load:
    """The batches of a process since the last look: their seconds in work, how many, and how many were refused."""

    busy_s: float = 0.0
    num_batches: int = 0
    num_refused: int = 0

    def pressure(self, elapsed_s: float, max_at_once: int) -> float:
        """How far the load is above what is comfortable: 1 is as much as the server should have."""
        if self.num_refused:
            return _GROWTH
        at_once = self.busy_s / max(elapsed_s, 0.1)
        mean_s = self.busy_s / max(self.num_batches, 1)
        return max(at_once / max(1.0, _BUSY_SHARE * max_at_once), min(mean_s / _SLOW_S, at_once))


def interval_s(report_every_s: float, max_reports_per_s: float, world_size: int, stretch: float) -> float:
    """How often each rank of a job should report: from 1 to 60 seconds."""
    return min(max(stretch * paced_interval_s(report_every_s, max_reports_per_s, world_size), LEAST_S), MOST_S)


def stretch_for_ranks(
    world_sizes: Sequence[int], report_every_s: float, max_reports_per_s: float, max_total_reports_per_s: float
) -> float:
    """The factor that keeps all jobs together, by the number of their ranks, below ``max_total_reports_per_s``."""
    planned = sum(size / paced_interval_s(report_every_s, max_reports_per_s, size) for size in world_sizes)
    return max(1.0, planned / max_total_reports_per_s)


def next_stretch(held: float, elapsed_s: float, pressure: float, for_ranks: float) -> float:
    """The factor from now on; ``held`` is the one so far, ``elapsed_s`` old."""
    faded = 1.0 + (held - 1.0) * math.exp(-max(elapsed_s, 0.0) / FADE_S)
    under_load = held * min(pressure, _GROWTH) if pressure > 1.0 else 1.0
    return min(max(faded, under_load, for_ranks), MAX_STRETCH)
