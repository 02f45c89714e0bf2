"""P5: how far delivery may be from the exact integral of the weights, against the bounds of decision 0006."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import numpy as np
import pytest
from headrace.mix import PPM, Revision, assign, weights_at
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.loader import strategies
from tests.loader.strategies import Ints


def latest(num_sources: int) -> int:
    """d in parts per million: how far behind a source may be before it is overdue, 1 − 1/(2K − 2)."""
    return PPM - -(-PPM // (2 * num_sources - 2)) if num_sources > 1 else 0


def harmonic(num_sources: int) -> float:
    """The proved bound on the deficit through any changes without pauses: d + 1/2 + … + 1/K."""
    last = 1 / (2 * num_sources - 2) if num_sources > 1 else 1
    return sum(1 / n for n in range(1, num_sources + 1)) - last


class Watch:
    """Draws one sequence at a time and keeps the extremes, in sequences."""

    def __init__(self, num_sources: int) -> None:
        self.accumulators = np.zeros(num_sources, np.int64)
        self.deficit = 0.0
        self.surplus = 0.0
        self._one = np.empty(1, np.int32)

    def draw(self, weights: Ints) -> int:
        assign(weights, self.accumulators, self._one)
        self.deficit = max(self.deficit, float(self.accumulators.max()) / PPM)
        self.surplus = max(self.surplus, -float(self.accumulators.min()) / PPM)
        assert self.accumulators.sum() == 0
        return int(self._one[0])


def shared(num_sources: int, among: Ints, rest: int) -> Ints:
    """Equal weights for the sources `among`, `rest` parts per million for the others."""
    weights = np.full(num_sources, rest, np.int64)
    left = PPM - rest * (num_sources - len(among))
    weights[among] = left // len(among)
    weights[among[0]] += left % len(among)
    return weights


@settings(deadline=None, max_examples=150)
@given(st.integers(1, 50).flatmap(strategies.weights_ppm), st.integers(1, 2_000))
def test_at_constant_weights_every_prefix_is_within_tijdemans_bound(weights: Ints, number: int) -> None:
    """P5: below one sequence for every source after every sequence; the theorem says 1 − 1/(2K − 2) at most."""
    accumulators, chosen = np.zeros(len(weights), np.int64), np.empty(number, np.int32)
    assign(weights, accumulators, chosen)
    delivered = np.cumsum(chosen[:, None] == np.arange(len(weights)), axis=0, dtype=np.int64)
    behind = np.arange(1, number + 1)[:, None] * weights - delivered * PPM
    assert np.array_equal(behind[-1], accumulators)
    assert abs(behind).max() <= latest(len(weights)) < PPM


@settings(deadline=None, max_examples=60)
@given(st.integers(1, 12), st.integers(1, 64), st.data())
def test_batches_of_any_size_deliver_each_source_to_within_one_sequence(k: int, size: int, data: st.DataObject) -> None:
    weights = data.draw(strategies.weights_ppm(k))
    accumulators, counts = np.zeros(k, np.int64), np.zeros(k, np.int64)
    for step in range(1, 40):
        chosen = np.empty(size, np.int32)
        assign(weights, accumulators, chosen)
        counts += np.bincount(chosen, minlength=k)
        assert abs(weights * size * step - counts * PPM).max() < PPM


@settings(deadline=None, max_examples=100)
@given(st.integers(2, 50), st.data())
def test_changes_without_pauses_stay_within_the_proved_bounds(k: int, data: st.DataObject) -> None:
    """P5: surplus below 1, deficit below d + 1/2 + … + 1/K."""
    watch = Watch(k)
    for _ in range(data.draw(st.integers(1, 12))):
        weights = data.draw(strategies.weights_ppm(k, may_pause=False))
        for _ in range(data.draw(st.integers(1, 2 * k))):
            watch.draw(weights)
    assert watch.surplus < 1
    assert watch.deficit <= harmonic(k) < 1 + math.log(k)


Adversary = Callable[[Watch, int, np.random.Generator], Iterator[Ints]]


def starving(watch: Watch, rest: int, rng: np.random.Generator) -> Iterator[Ints]:
    """Shares everything among those not yet chosen, over and over, from random sets of the most owed."""
    k = len(watch.accumulators)
    among = np.arange(k)
    while True:
        for _ in range(5 * k):
            before = watch.accumulators.copy()
            yield shared(k, among, rest)
            chosen = int(np.argmin(watch.accumulators - before))
            among = among[among != chosen]
            if len(among) < 2:
                break
        among = np.argsort(-watch.accumulators)[: max(2, int(k * rng.uniform(0.1, 1)))]


def splitting(watch: Watch, rest: int, rng: np.random.Generator) -> Iterator[Ints]:
    """Shares each sequence between two sources that are owed the same."""
    k = len(watch.accumulators)
    while True:
        order = np.argsort(watch.accumulators)
        gaps = np.diff(watch.accumulators[order])
        near = int(rng.choice(np.flatnonzero(gaps == gaps.min())))
        yield shared(k, order[near : near + 2], rest)


def teasing(watch: Watch, rest: int, rng: np.random.Generator) -> Iterator[Ints]:
    """Puts the weight on whatever is owed least, or most, or at random, with ramps between."""
    k = len(watch.accumulators)
    names = tuple(map(str, range(k)))
    log = [Revision("config:1", 0, dict.fromkeys(names, 0) | {"0": PPM})]
    step = 0
    while True:
        order = np.argsort(watch.accumulators * int(rng.choice((-1, 1))))
        if rng.random() < 0.3:
            order = rng.permutation(k)
        weights = shared(k, order[: rng.integers(1, k + 1)], rest)
        log = [log[-1], Revision("x:1", step, dict(zip(names, weights.tolist(), strict=True)), int(rng.integers(0, 9)))]
        for _ in range(rng.integers(1, 12)):
            at = weights_at(log, step, names)
            yield np.array([at[name] for name in names])
            step += 1
        log = [Revision("config:1", 0, weights_at(log, step, names)), log[-1]]


ADVERSARIES: dict[str, Adversary] = {"starving": starving, "splitting": splitting, "teasing": teasing}


def attack(adversary: Adversary, k: int, rest: int, number: int) -> Watch:
    watch = Watch(k)
    moves = adversary(watch, rest, np.random.default_rng(k))
    for _ in range(number):
        watch.draw(next(moves))
    return watch


@pytest.mark.parametrize("k", [2, 3, 4, 8, 20, 50])
@pytest.mark.parametrize("name", ADVERSARIES)
def test_adversaries_that_pause_nobody(name: str, k: int, capsys: pytest.CaptureFixture[str]) -> None:
    """Weights down to one part per million, chosen against the accumulators before every sequence."""
    watch = attack(ADVERSARIES[name], k, 1, 3_000)
    with capsys.disabled():
        print(
            f"\nmix, {name}, K = {k}, no pauses: deficit {watch.deficit:.3f} (bound {harmonic(k):.3f}, 1 + ln K "
            f"{1 + math.log(k):.3f}), surplus {watch.surplus:.3f} (bound 1)",
            end="",
        )
    assert watch.surplus < 1
    assert watch.deficit <= harmonic(k)


@pytest.mark.parametrize("k", [2, 3, 4, 8, 20, 50])
@pytest.mark.parametrize("name", ["starving", "teasing"])
def test_adversaries_that_pause(name: str, k: int, capsys: pytest.CaptureFixture[str]) -> None:
    watch = attack(ADVERSARIES[name], k, 0, 3_000)
    with capsys.disabled():
        print(
            f"\nmix, {name}, K = {k}, pauses: deficit {watch.deficit:.3f}, surplus {watch.surplus:.3f} "
            f"(1 + ln K {1 + math.log(k):.3f})",
            end="",
        )
    assert max(watch.deficit, watch.surplus) <= 1 + math.log(k)


def test_without_the_rule_for_overdue_sources_the_deficit_would_grow_past_the_bound() -> None:
    """By deadlines alone, one barely overdue at 1 ppm goes before one that is owed many sequences."""
    accumulators = np.zeros(20, np.int64)
    accumulators[:3] = (4 * PPM, 990_000, -4_990_000)
    weights = shared(20, np.array([0, 2]), 1)
    chosen = np.empty(1, np.int32)
    assign(weights, accumulators, chosen)
    assert chosen[0] == 0


def test_with_pauses_no_rule_keeps_the_surplus_below_one() -> None:
    """K = 4 at equal weights: after two picks, pause the two that are owed.

    The other two are half a sequence ahead each; half a sequence of quota brings both to 0, and the next sequence has
    to come from one of them, whichever: surplus 1.
    """
    watch = Watch(4)
    picked = {watch.draw(np.full(4, PPM // 4)) for _ in range(2)}
    assert len(picked) == 2
    watch.draw(shared(4, np.array(sorted(picked)), 0))
    assert sorted(watch.accumulators.tolist()) == [-PPM, 0, PPM // 2, PPM // 2]


@pytest.mark.parametrize("k", [4, 8, 20, 48])
def test_with_pauses_any_rule_can_be_driven_to_a_quarter_of_the_sources(
    k: int, capsys: pytest.CaptureFixture[str]
) -> None:
    """Two sources of equal accumulators share a sequence: one goes up half, one down half, whichever is chosen."""
    watch = Watch(k)
    moves = splitting(watch, 0, np.random.default_rng(k))
    while len(set(watch.accumulators.tolist())) < k:
        watch.draw(next(moves))
    with capsys.disabled():
        print(f"\nmix, splitting, K = {k}, pauses: deficit {watch.deficit:.3f}, surplus {watch.surplus:.3f}", end="")
    assert watch.deficit >= k / 4 - 0.5
    assert watch.surplus >= k / 4 - 0.5


def test_what_was_driven_apart_is_paid_back_at_constant_weights() -> None:
    watch = attack(splitting, 20, 0, 400)
    assert max(watch.deficit, watch.surplus) > 4
    weights, chosen = np.full(20, PPM // 20), np.empty(2_000, np.int32)
    assign(weights, watch.accumulators, chosen)
    assert abs(watch.accumulators).max() < PPM
