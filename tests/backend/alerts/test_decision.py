"""Hysteresis as properties: no flapping, no resolving before the all-clear held, nothing from gaps in the looking."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from headrace_server.alerts.decision import (
    MAX_CREDIT_S,
    MAX_GAP_S,
    QUIET,
    Change,
    Clock,
    Limits,
    Past,
    decide,
    is_due,
    look,
)
from hypothesis import given
from hypothesis import strategies as st

TICK_S = 10.0
VALUES = st.lists(st.one_of(st.none(), st.floats(0, 10)), min_size=1, max_size=120)


@st.composite
def limits(draw: st.DrawFn) -> Limits:
    low, high = sorted(draw(st.lists(st.floats(1, 9), min_size=2, max_size=2)))
    above = draw(st.booleans())
    return Limits(
        threshold=high if above else low,
        clear_at=low if above else high,
        for_s=draw(st.sampled_from([0.0, 10.0, 35.0, 100.0])),
        clear_for_s=draw(st.sampled_from([0.0, 10.0, 45.0, 120.0])),
        above=above,
    )


@dataclass(frozen=True)
class Seen:
    at: float
    value: float | None
    firing: bool
    change: Change | None


def run(rule: Limits, values: Sequence[float | None], gaps: Sequence[float] | None = None) -> Iterator[Seen]:
    past, now = QUIET, 1000.0
    for i, value in enumerate(values):
        now += TICK_S if gaps is None else gaps[i]
        past, change = decide(rule, value, past, now)
        yield Seen(now, value, past.firing, change)


def held_before(seen: Sequence[Seen], i: int, good: bool, rule: Limits) -> float:
    """For how long, up to look ``i``, every look found what it took."""
    first = i
    while first >= 0:
        value = seen[first].value
        if value is None or not (rule.cleared(value) if good else rule.breached(value)):
            break
        first -= 1
    return seen[i].at - seen[first + 1].at


@given(limits(), VALUES)
def test_nothing_fires_or_resolves_before_it_held_and_it_does_once_it_has(
    rule: Limits, values: list[float | None]
) -> None:
    seen = list(run(rule, values))
    for i, one in enumerate(seen):
        if one.change == "fire":
            assert held_before(seen, i, False, rule) >= rule.for_s
        elif one.change == "resolve":
            assert held_before(seen, i, True, rule) >= rule.clear_for_s
        elif one.value is not None and one.firing and rule.cleared(one.value):
            assert held_before(seen, i, True, rule) < rule.clear_for_s or seen[i - 1].change == "fire"


@given(limits(), VALUES)
def test_it_fires_at_most_once_in_the_time_that_firing_and_clearing_take(
    rule: Limits, values: list[float | None]
) -> None:
    fired = [one.at for one in run(rule, values) if one.change == "fire"]
    for first, second in pairwise(fired):
        assert second - first >= rule.for_s + rule.clear_for_s + TICK_S


@given(limits(), st.lists(st.floats(0, 1), min_size=30, max_size=120))
def test_a_figure_that_swings_over_the_threshold_but_is_never_good_again_fires_once(
    rule: Limits, swings: list[float]
) -> None:
    bad = 10.0 if rule.above else 0.0
    # Between the all-clear (left out) and the bad end.
    worst_good = rule.clear_at + (1e-6 if rule.above else -1e-6)
    values = [bad] * 20 + [worst_good + (bad - worst_good) * swing for swing in swings]
    assert [one.change for one in run(rule, values) if one.change] == ["fire"]


@given(limits(), VALUES, st.data())
def test_gaps_and_jumps_of_time_count_as_little_as_two_looks(
    rule: Limits, values: list[float | None], data: st.DataObject
) -> None:
    """However long nobody looked, and however far the clock jumped, back or on: what counts is what was seen."""
    gaps = data.draw(
        st.lists(st.sampled_from([-7200.0, 0.0, 10.0, 5000.0]), min_size=len(values), max_size=len(values))
    )
    seen = list(run(rule, values, gaps))
    since = 0
    for i, one in enumerate(seen):
        if one.change is not None:
            need = rule.for_s if one.change == "fire" else rule.clear_for_s
            assert (i - since) * MAX_CREDIT_S >= need
            since = i


@given(limits(), st.booleans(), st.floats(0, 1e6))
def test_an_unknown_value_changes_nothing(rule: Limits, firing: bool, held_s: float) -> None:
    assert decide(rule, None, Past(firing, held_s, 990.0), 1000.0) == (Past(firing), None)


def test_the_clock_is_suspended_after_a_gap_and_after_a_jump() -> None:
    assert look(None, 1000.0, 30.0) == Clock(1000.0)
    assert look(Clock(1000.0), 1010.0, 30.0).suspended_until == 0
    assert look(Clock(1000.0), 1000.0 + MAX_GAP_S + 1, 30.0).suspended_until == 1000.0 + MAX_GAP_S + 31
    assert look(Clock(1000.0), 400.0, 30.0).suspended_until == 430.0
    assert look(Clock(1000.0, 1025.0), 1010.0, 30.0).suspended_until == 1025.0
    # Set back a second while it was suspended far ahead: never longer than the grace.
    assert look(Clock(1000.0, 9000.0), 999.0, 30.0).suspended_until == 1029.0


def test_replicas_look_in_turn() -> None:
    assert is_due(None, 1000.0, 8.0)
    assert not is_due(Clock(1000.0), 1007.0, 8.0)
    assert not is_due(Clock(1000.0), 998.0, 8.0), "a replica whose clock is a little behind"
    assert is_due(Clock(1000.0), 1008.0, 8.0)
    assert is_due(Clock(1000.0), 900.0, 8.0), "the clock was set back"
