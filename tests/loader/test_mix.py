"""Weights become exact parts per million, changes and ramps are pure functions of the log."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from headrace.errors import ConfigError
from headrace.mix import PPM, Revision, assign, revision_at, weights_at, weights_to_ppm
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.loader import strategies

NAMES = ("web", "code", "books")


def named(*values: float) -> dict[str, float]:
    return {f"s{k}": value for k, value in enumerate(values)}


def ppm(*values: float) -> list[int]:
    return list(weights_to_ppm(named(*values), [f"s{k}" for k in range(len(values))]).values())


@pytest.mark.parametrize(
    ("weights", "expected"),
    [
        ([0.1] * 10, [100_000] * 10),
        ([0.7, 0.2, 0.1], [700_000, 200_000, 100_000]),
        ([3, 1], [750_000, 250_000]),
        ([1, 1, 1], [333_334, 333_333, 333_333]),
        ([0, 1, 2], [0, 333_333, 666_667]),
        ([5e-324, 5e-324], [500_000, 500_000]),
        ([1.7e308, 1.7e308], [500_000, 500_000]),
        ([10**400, 3 * 10**400], [250_000, 750_000]),
        ([7], [PPM]),
        ([1, 999_999], [1, 999_999]),
        ([np.float32(0.5), np.int64(1), np.float64(0.5)], [250_000, 500_000, 250_000]),
        ([Fraction(1, 3), Fraction(2, 3)], [333_333, 666_667]),
    ],
)
def test_weights_on_any_scale_are_normalised(weights: list[float], expected: list[int]) -> None:
    """C02: ten weights of 0.1 are ten equal shares, 3:1 is 0.75 to 0.25."""
    assert ppm(*weights) == expected


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([0, 0], "every weight is 0; at least one source must have a positive weight"),
        ([-1, 2], "weight of 's0' is -1; weights must be finite and at least 0"),
        ([1, math.nan], "weight of 's1' is nan; weights must be finite and at least 0"),
        ([math.inf, 1], "weight of 's0' is inf; weights must be finite and at least 0"),
        ([1, -math.inf], "weight of 's1' is -inf"),
        ([1, True], "weight of 's1' is True; weights must be numbers"),
        ([1, "0.5"], "weight of 's1' is '0.5'; weights must be numbers"),
        ([1, None], "weight of 's1' is None; weights must be numbers"),
        ([1, -(10**400)], "weight of 's1' is -1000"),
        ([1, 1e-7], "weight of 's1' is 1e-07, a share of 1e-07; the smallest is one part in a million"),
        ([1e308, 5e-324], "weight of 's1' is 5e-324, a share of 0"),
    ],
)
def test_weights_that_are_not_allowed_are_refused_naming_the_source(weights: list[float], message: str) -> None:
    """C02"""
    with pytest.raises(ConfigError) as refused:
        ppm(*weights)
    assert message in str(refused.value)


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ({"web": 1, "code": 1}, "no weight for source 'books'; give every source one (0 pauses it)"),
        (
            {"web": 1, "code": 1, "books": 1, "bocks": 1},
            "weight for 'bocks', which is not a source; the sources are",
        ),
        ({"web": 1, "code": 1, "bocks": 1}, "did you mean 'books'?"),
        ({}, "no weight for source 'web'"),
        ([0.5, 0.25, 0.25], "weight for 0.5, which is not a source"),
    ],
)
def test_weights_that_do_not_match_the_sources_are_refused(weights: dict[str, float], message: str) -> None:
    """C02: fewer weights than sources."""
    with pytest.raises(ConfigError) as refused:
        weights_to_ppm(weights, NAMES)
    assert message in str(refused.value)


numbers = st.one_of(
    st.integers(0, 10**6), st.floats(0, allow_infinity=False), st.floats(0, 10), st.sampled_from((0, 0.1, 1 / 3, 1))
)


@settings(deadline=None, max_examples=300)
@given(st.lists(numbers, min_size=1, max_size=50), st.integers(1, 10**9))
def test_shares_are_exact_to_one_millionth_and_keep_their_order(values: list[float], scale: int) -> None:
    total = sum(map(Fraction, values))
    if total == 0 or any(0 < Fraction(value) * 10**7 < total * 10 for value in values):
        return
    found = ppm(*values)
    assert sum(found) == PPM
    for value, share in zip(values, found, strict=True):
        assert abs(share - Fraction(value) * PPM / total) < 1
        assert (share == 0) == (value == 0)
    for one, other in zip(range(len(values)), range(1, len(values)), strict=False):
        if values[one] == values[other]:
            assert found[one] in (found[other], found[other] + 1), "ties go to the earlier source"
        else:
            assert (found[one] >= found[other]) == (values[one] > values[other]) or found[one] == found[other]
    scaled = {f"s{k}": Fraction(value) * scale for k, value in enumerate(values)}
    assert list(weights_to_ppm(scaled, list(scaled)).values()) == found  # type: ignore[arg-type]


def in_force(log: list[Revision], step: int, names: tuple[str, ...]) -> dict[str, int]:
    """The definition: a ramp is linear from the weights that the log before it gives at its first step."""
    last = max(i for i, revision in enumerate(log) if revision.from_step <= step)
    target = {name: log[last].weights_ppm.get(name, 0) for name in names}
    done, ramp = step - log[last].from_step, log[last].ramp_steps
    if last == 0 or done >= ramp:
        return target
    before = in_force(log[:last], log[last].from_step, names)
    exact = [Fraction(before[name] * (ramp - done) + target[name] * done, ramp) for name in names]
    floors = [math.floor(value) for value in exact]
    order = sorted(range(len(names)), key=lambda k: floors[k] - exact[k])
    for k in order[: PPM - sum(floors)]:
        floors[k] += 1
    return dict(zip(names, floors, strict=True))


@settings(deadline=None, max_examples=200)
@given(st.integers(1, 6).flatmap(lambda k: strategies.logs(NAMES + tuple("xyz")[: k - 1])), st.integers(0, 90))
def test_weights_at_any_step_follow_the_definition(log: list[Revision], step: int) -> None:
    names = tuple(log[0].weights_ppm)
    found = weights_at(log, step, names)
    assert found == in_force(log, step, names)
    assert sum(found.values()) == PPM
    assert min(found.values()) >= 0
    newest = revision_at(log, step)
    assert newest.from_step <= step
    if step - newest.from_step >= newest.ramp_steps:
        assert found == dict(newest.weights_ppm)


def two(step: int, web: int, ramp: int = 0) -> Revision:
    return Revision(f"service:{step}", step, {"web": web, "code": PPM - web}, ramp)


def web_at(log: list[Revision], step: int) -> int:
    return weights_at(log, step, ("web", "code"))["web"]


def test_a_ramp_is_linear_and_full_at_its_end() -> None:
    log = [two(0, 200_000), two(10, 600_000, 4)]
    assert [web_at(log, step) for step in (0, 9, 10, 11, 12, 13, 14, 99)] == [
        200_000, 200_000, 200_000, 300_000, 400_000, 500_000, 600_000, 600_000
    ]  # fmt: skip


def test_a_change_inside_a_ramp_starts_from_where_the_ramp_stands() -> None:
    ramped = [two(0, 0), two(10, 800_000, 8), two(14, 0, 4)]
    assert [web_at(ramped, step) for step in (13, 14, 16, 18)] == [300_000, 400_000, 200_000, 0]
    at_once = [two(0, 0), two(10, 800_000, 8), two(14, 100_000)]
    assert [web_at(at_once, step) for step in (13, 14, 18)] == [300_000, 100_000, 100_000]


def test_of_two_changes_at_one_step_the_later_wins() -> None:
    log = [two(0, 0), two(5, 300_000), two(5, 700_000), two(5, 500_000, 10)]
    assert [web_at(log, step) for step in (4, 5, 10, 15)] == [0, 700_000, 600_000, 500_000]
    assert revision_at(log, 5) is log[3]


def test_a_source_that_a_revision_does_not_name_has_no_weight() -> None:
    log = [Revision("config:1", 0, {"web": PPM})]
    assert weights_at(log, 3, ("web", "code")) == {"web": PPM, "code": 0}


def test_a_new_ramp_at_every_step_of_a_long_run() -> None:
    """A curriculum that moves its aim before it gets there: no limit on how many changes are under way."""
    log = [two(0, 500_000), *(two(step, 500_000 + step, 10) for step in range(1, 3_000))]
    assert 500_000 < web_at(log, 2_999) < 502_999


def test_versions_are_the_services_own() -> None:
    ids = ("config:1", "service:7", "local:0a1b2c3d:4")
    assert [Revision(name, 0, {}).version for name in ids] == [None, 7, None]


def test_extreme_weights() -> None:
    """M01: 0.001 to 0.999 over 1,000 draws gives 1 ± 1 and 999 ± 1."""
    chosen = np.empty(1000, np.int32)
    assign(np.array([1_000, 999_000]), np.zeros(2, np.int64), chosen)
    assert abs(np.bincount(chosen) - [1, 999]).max() <= 1


def test_a_source_of_weight_zero_is_never_chosen_and_keeps_what_it_is_owed() -> None:
    """M05"""
    accumulators, chosen = np.zeros(3, np.int64), np.empty(101, np.int32)
    assign(np.array([300_000, 300_000, 400_000]), accumulators, chosen)
    owed = int(accumulators[1])
    assign(np.array([500_000, 0, 500_000]), accumulators, chosen)
    assert 1 not in chosen
    assert accumulators[1] == owed
    assign(np.array([PPM, 0, 0]), accumulators, chosen)
    assert set(chosen.tolist()) == {0}


@settings(deadline=None)
@given(st.integers(1, 20).flatmap(strategies.weights_ppm), st.integers(0, 300), st.integers(0, 300))
def test_nothing_depends_on_how_the_draws_are_cut(weights: strategies.Ints, first: int, second: int) -> None:
    """S02, S04: the order of sources is one list, however it is cut into batches."""
    whole, cut = np.zeros(len(weights), np.int64), np.zeros(len(weights), np.int64)
    chosen, left, right = (np.empty(n, np.int32) for n in (first + second, first, second))
    assign(weights, whole, chosen)
    assign(weights, cut, left)
    assign(weights, cut, right)
    assert np.array_equal(chosen, np.concatenate((left, right)))
    assert np.array_equal(whole, cut)


def _next_by_the_rule(weights: list[int], accumulators: list[int]) -> int:
    """`assign` of one sequence as the rule is told: exact fractions, one source at a time."""
    scale = max(2 * len(weights) - 2, 1)
    for k, weight in enumerate(weights):
        accumulators[k] += weight
    active = [k for k, weight in enumerate(weights) if weight]
    latest = Fraction(PPM * (scale - 1), scale)
    if any(accumulators[k] > latest for k in active) or all(accumulators[k] * scale < PPM for k in active):
        best = max(active, key=lambda k: (accumulators[k], -k))
    else:
        owed = [k for k in active if accumulators[k] * scale >= PPM]
        best = min(owed, key=lambda k: ((latest - accumulators[k]) / weights[k], k))
    accumulators[best] -= PPM
    return best


@settings(deadline=None)
@given(
    st.integers(1, 30).flatmap(strategies.weights_ppm), st.integers(0, 2**32 - 1), st.sampled_from((0, PPM, 9 * PPM))
)
def test_the_kernel_follows_the_rule_from_any_accumulators(weights: strategies.Ints, seed: int, reach: int) -> None:
    """Those that a checkpoint may hold after ramps and pauses, too: overdue, owed nothing, paused while owed."""
    accumulators = np.random.default_rng(seed).integers(-reach * PPM, reach * PPM + 1, len(weights))
    accumulators[0] -= accumulators.sum()
    by_rule, chosen = accumulators.tolist(), np.empty(60, np.int32)
    expected = [_next_by_the_rule(weights.tolist(), by_rule) for _ in chosen]
    assign(weights, accumulators, chosen)
    assert chosen.tolist() == expected
    assert accumulators.tolist() == by_rule


def test_golden_values() -> None:
    """A change of these would move the stream of every run and every checkpoint."""
    accumulators, chosen = np.zeros(3, np.int64), np.empty(20, np.int32)
    assign(np.array([600_000, 300_000, 100_000]), accumulators, chosen)
    assert chosen.tolist() == [0, 1, 0, 0, 1, 0, 2, 0, 1, 0] * 2
    assert accumulators.tolist() == [0, 0, 0]
    many, drawn = np.zeros(7, np.int64), np.empty(24, np.int32)
    assign(np.array([333_333, 1, 250_000, 166_666, 0, 150_000, 100_000]), many, drawn)
    assert drawn.tolist() == [0, 2, 3, 0, 5, 2, 0, 6, 3, 2, 0, 5, 0, 2, 3, 0, 6, 5, 2, 0, 3, 2, 0, 5]
