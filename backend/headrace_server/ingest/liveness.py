"""How alive a rank is, from when the server last heard of it. Pure.

Silence is measured by the server's clock, in report intervals, and leaves out the time no server was up to hear.

    silence    ≤ 2 intervals   live      (stuck: live, but no new step for ``stuck_after_s``)
               ≤ 2.5           late
               ≤ 3             stale
               > 3             lost
"""

from dataclasses import dataclass
from typing import Literal

RankLiveness = Literal["live", "late", "stale", "lost", "finished", "stuck"]

LIVE_INTERVALS = 2
LATE_INTERVALS = 2.5
STALE_INTERVALS = 3


@dataclass(frozen=True)
class Downtime:
    """The last time nobody was listening: from the last sign of life before this start until clients are back.

    ``until`` is the start plus a grace, because clients that backed off need a moment to return. Unix seconds.
    """

    since: float = 0.0
    until: float = 0.0

    def silence_s(self, last: float, now: float) -> float:
        """Seconds of silence since ``last`` that can be held against a rank."""
        deaf = max(0.0, min(now, self.until) - max(last, self.since))
        return max(0.0, now - last - deaf)

    def cutoff(self, silence_s: float, now: float) -> float:
        """The inverse: last reports before this time mean more than ``silence_s`` of silence."""
        plain = now - silence_s
        until = min(now, self.until)
        return plain if plain >= until else plain - max(0.0, until - self.since)


@dataclass(frozen=True)
class Cutoffs:
    """Last reports before these times are late, stale, lost; last advances before ``stuck`` are stuck. Unix seconds."""

    late: float
    stale: float
    lost: float
    stuck: float


def cutoffs(downtime: Downtime, now: float, report_every_s: float, stuck_after_s: float) -> Cutoffs:
    """The cut-offs in force now."""
    return Cutoffs(
        late=downtime.cutoff(LIVE_INTERVALS * report_every_s, now),
        stale=downtime.cutoff(LATE_INTERVALS * report_every_s, now),
        lost=downtime.cutoff(STALE_INTERVALS * report_every_s, now),
        stuck=downtime.cutoff(max(stuck_after_s, STALE_INTERVALS * report_every_s), now),
    )


def rank_liveness(received_at: float, advanced_at: float, cuts: Cutoffs, *, finished: bool) -> RankLiveness:
    """The state of one rank; ``finished`` is whether its attempt was reported as finished."""
    if finished:
        return "finished"
    if received_at < cuts.lost:
        return "lost"
    if received_at < cuts.stale:
        return "stale"
    if received_at < cuts.late:
        return "late"
    return "stuck" if advanced_at < cuts.stuck else "live"


def paced_interval_s(report_every_s: float, max_reports_per_s: float, world_size: int) -> float:
    """How often each rank should report, so that a job stays below ``max_reports_per_s``."""
    return max(report_every_s, world_size / max_reports_per_s)
