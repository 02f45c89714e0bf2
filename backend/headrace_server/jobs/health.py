"""The state of a job and why, from its newest attempt and what its ranks last said. Pure.

``finished`` and ``failed`` are only ever what somebody posted; silence is ``lost``, never an end.
"""

from dataclasses import dataclass

from ..durations import span
from .schemas import JobState


@dataclass(frozen=True, kw_only=True)
class Vitals:
    """A job's newest attempt and its ranks, counted. Ages are in seconds."""

    attempt_number: int
    attempt_state: str
    attempt_reason: str | None
    attempt_age_s: float
    world_size: int
    lost_after_s: float
    num_ranks: int = 0
    num_heard: int = 0
    num_lost: int = 0
    first_lost_rank: int | None = None
    lost_for_s: float = 0.0
    num_stuck: int = 0
    first_stuck_rank: int | None = None
    stuck_for_s: float = 0.0
    first_quiet_rank: int | None = None
    step: int | None = None


def _some(rank: int | None, num: int, total: int) -> str:
    return f"rank {rank} of {total}" if num == 1 else f"{num} of {total} ranks (rank {rank} first)"


def job_state(vitals: Vitals | None) -> tuple[JobState, str]:
    """The state and a sentence that says why; None is a job that was never started."""
    if vitals is None:
        return "waiting", "registered; no attempt has started yet"
    start = f"attempt {vitals.attempt_number}"
    because = f": {vitals.attempt_reason}" if vitals.attempt_reason else ""
    if vitals.attempt_state == "finished":
        return "finished", f"{start} finished{because}"
    if vitals.attempt_state == "failed":
        return "failed", f"{start} failed{because}"
    if vitals.num_ranks == 0:
        return _before_reports(vitals, start)
    return _trouble(vitals, start) or ("running", _running(vitals))


def _before_reports(vitals: Vitals, start: str) -> tuple[JobState, str]:
    if vitals.attempt_age_s > vitals.lost_after_s:
        return "lost", f"{start} started {span(vitals.attempt_age_s)} ago and no rank has reported since"
    return "waiting", f"{start} has started; no rank has reported yet"


def _trouble(vitals: Vitals, start: str) -> tuple[JobState, str] | None:
    if vitals.num_lost:
        who = _some(vitals.first_lost_rank, vitals.num_lost, vitals.world_size)
        return "lost", f"no word from {who} for {span(vitals.lost_for_s)}"
    missing = vitals.world_size - vitals.num_ranks
    if missing > 0 and vitals.attempt_age_s > vitals.lost_after_s:
        return "lost", f"{missing} of {vitals.world_size} ranks have never reported in {start}"
    if vitals.num_stuck:
        who = _some(vitals.first_stuck_rank, vitals.num_stuck, vitals.world_size)
        verbs = "reports but has" if vitals.num_stuck == 1 else "report but have"
        return "stalled", f"{who} {verbs} not advanced for {span(vitals.stuck_for_s)}"
    return None


def _running(vitals: Vitals) -> str:
    quiet = vitals.num_ranks - vitals.num_heard
    if quiet:
        verb = "is" if quiet == 1 else "are"
        return f"{_some(vitals.first_quiet_rank, quiet, vitals.world_size)} {verb} late with reports"
    if vitals.num_ranks < vitals.world_size:
        return f"{vitals.num_ranks} of {vitals.world_size} ranks have reported so far"
    return f"all {vitals.world_size} ranks report; last step {vitals.step}"
