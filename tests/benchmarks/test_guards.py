"""A path that has become slower is told, and one that only seemed so isn't."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from benchmarks import guards
from benchmarks.guards import Guard, in_turn, outcome


class Clock:
    """Time that passes only where work says so."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now

    def work(self, seconds: float) -> Callable[[], None]:
        """Work that takes so long."""

        def done() -> None:
            self.now += seconds

        return done


def guard(path_s: float, limit_s: float = 1.0) -> Guard:
    clock = Clock()
    path, limit = clock.work(path_s), clock.work(limit_s)
    return Guard("path", "limit", lambda: in_turn(path, limit, rounds=5, clock=clock))


def given(*shares: float) -> Guard:
    left: Iterator[float] = iter(shares)
    return Guard("path", "limit", lambda: next(left))


@pytest.mark.parametrize(("slowdown", "holds"), [(0.5, True), (1.0, True), (1.2, True), (1.3, False), (4.0, False)])
def test_a_path_made_slower_by_more_than_a_fifth_fails(slowdown: float, holds: bool) -> None:
    recorded = outcome(guard(2.0), None).share
    assert recorded == 0.5
    assert outcome(guard(2.0 * slowdown), recorded).holds is holds


def test_a_machine_of_another_speed_changes_nothing() -> None:
    assert outcome(guard(20.0, 10.0), 0.5).share == 0.5


def test_one_that_seems_slower_is_measured_again_before_it_fails() -> None:
    busy = outcome(given(0.1, 0.49), 0.5)
    assert (busy.holds, busy.attempts, busy.share) == (True, 2, 0.49)
    slow = outcome(given(0.1, 0.3, 0.2), 0.5)
    assert (slow.holds, slow.attempts, slow.share) == (False, guards.ATTEMPTS, 0.3)
    assert outcome(given(0.5), 0.5).attempts == 1


def test_a_pair_disturbed_half_way_is_outvoted() -> None:
    clock = Clock()
    times = iter((1.0, 1.0, 9.0, 1.0, 1.0))

    def path() -> None:
        clock.now += next(times)

    assert in_turn(path, clock.work(1.0), rounds=5, clock=clock) == 1.0


def test_the_record_keeps_other_guards(tmp_path: Path) -> None:
    path = tmp_path / "guards.json"
    assert guards.read(path) == {}
    guards.write({"a": 0.5, "b": 0.25}, {"commit": "x"}, path)
    guards.write({"b": 0.75}, {"commit": "y"}, path)
    assert guards.read(path) == {"a": 0.5, "b": 0.75}


def test_every_guard_is_on_record() -> None:
    from benchmarks.check import all_guards

    assert sorted(guards.read()) == sorted(guard.name for guard in all_guards())
