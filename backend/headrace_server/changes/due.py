"""When a change that waits has its turn. Pure.

One for a step becomes a version shortly before the job gets there: late enough not to stand in the way of other edits,
early enough for the leader, which asks once a second and applies a version exactly at its ``from_step``.
"""

from dataclasses import dataclass
from math import ceil
from typing import Literal

from ..jobs.pace import Pace
from .schemas import Starts

Turn = Literal["wait", "now", "too_late", "expired"]
# How long before its step a change becomes a version, at the job's speed, and at least in steps; a job whose speed is
# unknown may be fast.
LEAD_S = 60.0
LEAD_STEPS = 100
UNKNOWN_LEAD_STEPS = 1000


@dataclass(frozen=True, kw_only=True)
class Waiting:
    """What a change waits for. Times are Unix seconds."""

    starts: Starts
    approved: bool
    at_step: int | None
    at_time: float | None
    expires_at: float | None


@dataclass(frozen=True)
class Verdict:
    """Whether a change has its turn; why not any more; how late it is (seconds, None where unknown)."""

    turn: Turn
    why: str | None = None
    late_s: float | None = None


def lead_steps(steps_per_s: float | None) -> int:
    """How many steps before its own a change becomes a version."""
    if steps_per_s is None:
        return UNKNOWN_LEAD_STEPS
    return max(LEAD_STEPS, ceil(steps_per_s * LEAD_S))


def verdict(change: Waiting, progress: Pace | None, now: float, late_limit_s: float) -> Verdict:
    """What is to become of a change now; ``progress`` is None for a job that never started."""
    if progress is not None and progress.ended:
        return Verdict("expired", "the run finished before")
    if not change.approved:
        return _unapproved(change, progress, now)
    if change.starts == "time":
        assert change.at_time is not None
        if now < change.at_time:
            return Verdict("wait")
        return _late(now - change.at_time, late_limit_s)
    return _for_step(change, progress, late_limit_s)


def _unapproved(change: Waiting, progress: Pace | None, now: float) -> Verdict:
    if change.expires_at is not None and now >= change.expires_at:
        return Verdict("expired", "nobody approved it in time")
    if change.starts == "step" and _steps_past(change, progress) > 0:
        return Verdict("expired", f"nobody approved it before step {change.at_step}")
    return Verdict("wait")


def _steps_past(change: Waiting, progress: Pace | None) -> int:
    """How many steps the job is past the one it waits for; below 1 while that is ahead."""
    assert change.at_step is not None
    done = -1 if progress is None or progress.step is None else progress.step
    return done + 1 - change.at_step


def _for_step(change: Waiting, progress: Pace | None, late_limit_s: float) -> Verdict:
    if progress is None:
        return Verdict("wait")
    past = _steps_past(change, progress)
    if past < -lead_steps(progress.steps_per_s):
        return Verdict("wait")
    if past <= 0:
        return Verdict("now", late_s=0.0)
    return _late(past / progress.steps_per_s if progress.steps_per_s else None, late_limit_s)


def _late(late_s: float | None, limit_s: float) -> Verdict:
    if late_s is not None and late_s > limit_s:
        why = f"its turn came {late_s:.0f} s before the server could look; at most {limit_s:.0f} s are made up for"
        return Verdict("too_late", why, late_s)
    return Verdict("now", late_s=late_s)
