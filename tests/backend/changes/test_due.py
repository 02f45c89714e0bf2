"""When a change that waits has its turn, without a database."""

from typing import Any

from headrace_server.changes.due import LEAD_STEPS, UNKNOWN_LEAD_STEPS, Waiting, lead_steps, verdict
from headrace_server.jobs.pace import Pace

LIMIT_S = 3600.0


def turn(change: Waiting, step: int | None = None, rate: float | None = 1.0, now: float = 0.0, **more: Any) -> str:
    progress = Pace(step=step, steps_per_s=rate, ended=more.get("ended", False))
    return verdict(change, progress, now, LIMIT_S).turn


def for_step(step: int, *, approved: bool = True) -> Waiting:
    return Waiting(starts="step", approved=approved, at_step=step, at_time=None, expires_at=None)


def for_time(at: float, *, approved: bool = True, expires_at: float | None = None) -> Waiting:
    return Waiting(starts="time", approved=approved, at_step=None, at_time=at, expires_at=expires_at)


def test_a_step_is_prepared_a_minute_ahead_and_never_less_than_a_hundred_steps() -> None:
    assert lead_steps(0.5) == LEAD_STEPS
    assert lead_steps(10.0) == 600
    assert lead_steps(None) == UNKNOWN_LEAD_STEPS
    change = for_step(5000)
    assert turn(change, 4999 - 101) == "wait"
    assert turn(change, 4999 - 100) == "now"
    assert turn(change, 4999 - 601, rate=10.0) == "wait"
    assert turn(change, 4999 - 600, rate=10.0) == "now"
    assert turn(change, 4999 - 1000, rate=None) == "now"


def test_a_step_that_passed_is_late_by_the_speed() -> None:
    late = verdict(for_step(100), Pace(step=199, steps_per_s=2.0, ended=False), 0.0, LIMIT_S)
    assert (late.turn, late.late_s) == ("now", 50.0)
    assert turn(for_step(100), 100 + 3601, rate=1.0) == "too_late"
    assert turn(for_step(100), 100_000, rate=None) == "now", "nobody knows how long ago"


def test_a_job_that_never_started_waits_and_one_that_finished_is_over() -> None:
    assert verdict(for_step(0), None, 0.0, LIMIT_S).turn == "wait"
    assert verdict(for_time(10.0), None, 11.0, LIMIT_S).turn == "now"
    for change in (for_step(100), for_time(10.0), for_time(10.0, approved=False)):
        assert turn(change, 5, ended=True) == "expired"


def test_a_time_is_made_up_for_within_the_limit() -> None:
    assert turn(for_time(10.0), now=9.9) == "wait"
    assert turn(for_time(10.0), now=10.0) == "now"
    assert turn(for_time(10.0), now=10.0 + LIMIT_S) == "now"
    assert turn(for_time(10.0), now=10.1 + LIMIT_S) == "too_late"


def test_without_an_approval_nothing_has_its_turn() -> None:
    assert turn(for_time(10.0, approved=False, expires_at=20.0), now=15.0) == "wait"
    assert turn(for_time(10.0, approved=False, expires_at=20.0), now=20.0) == "expired"
    assert turn(for_step(100, approved=False), 50) == "wait"
    assert turn(for_step(100, approved=False), 99) == "wait"
    assert turn(for_step(100, approved=False), 100) == "expired"
