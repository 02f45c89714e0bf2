"""The service counts what a step takes from each source as the loader does: weights in force, and the choice."""

from typing import Any

import numpy as np
import pytest
from headrace import mix as loader_mix
from headrace.plan import Position
from headrace.replay import advance
from headrace_server.trace.allocation import Counts, Replay, TooFarError
from headrace_server.trace.revisions import Begun, Revision, Sealed, Weights, log_of
from hypothesis import given, settings
from hypothesis import strategies as st

NAMES = ["web", "code", "books", "Zoë"]


@st.composite
def _ppm(draw: st.DrawFn) -> dict[str, int]:
    values = draw(st.lists(st.integers(0, 10), min_size=len(NAMES), max_size=len(NAMES)).filter(any))
    return loader_mix.weights_to_ppm(dict(zip(NAMES, map(float, values), strict=True)), NAMES)


@st.composite
def _logs(draw: st.DrawFn) -> list[Revision]:
    """Changes at rising steps, some over ramps that the next one cuts short; the first from step 0."""
    steps = sorted([0, *draw(st.lists(st.integers(0, 60), max_size=4))])
    return [
        Revision(f"service:{number}", number, step, draw(_ppm()), draw(st.sampled_from([0, 0, 1, 7, 40])))
        for number, step in enumerate(steps)
    ]


def _for_loader(log: list[Revision]) -> list[loader_mix.Revision]:
    return [loader_mix.Revision(each.id, each.from_step, each.weights_ppm, each.ramp_steps) for each in log]


@given(_logs())
def test_the_weights_in_force_are_the_same(log: list[Revision]) -> None:
    weights = Weights(log, NAMES)
    for step in range(110):
        assert weights.at(step) == list(loader_mix.weights_at(_for_loader(log), step, NAMES).values())
    found = weights.stretches(3, 100)
    assert [first for first, _ in found[1:]] == [end for _, end in found[:-1]]
    assert (found[0][0], found[-1][1]) == (3, 100)
    assert len(found) <= weights.num_stretches(3, 100)
    for first, end in found:
        assert all(weights.at(step) == weights.at(first) for step in range(first, end))


@settings(max_examples=40, deadline=None)
@given(_logs(), st.integers(1, 9), st.integers(0, 80), st.integers(0, 80))
def test_the_counts_are_the_same_from_any_known_step(log: list[Revision], size: int, known: int, more: int) -> None:
    """What is owed follows from the counts alone: a report is enough to go on from."""
    sizes = ((0, size),)
    start = Position.start(len(NAMES))
    at = advance(start, _for_loader(log), NAMES, sizes, known)
    expected = advance(start, _for_loader(log), NAMES, sizes, known + more)
    replay = Replay(Weights(log, NAMES), size)
    counts = Counts(known, tuple(at.counts.tolist()))
    owed = replay.owed(counts)
    assert owed == at.accumulators.tolist()
    later, owed = replay.advance(counts, owed, known + more)
    assert later.of == tuple(expected.counts.tolist())
    assert owed == expected.accumulators.tolist()


def test_round_weights_are_replayed_over_a_long_run_and_odd_ones_are_refused() -> None:
    weights = {"web": 500_000, "code": 300_000, "books": 150_000, "Zoë": 50_000}
    log = [Revision("config:1", 1, 0, weights)]
    replay = Replay(Weights(log, NAMES), 512)
    step = 10_000_001
    later, _ = replay.advance(Counts(0, (0,) * 4), [0] * 4, step)
    expected = advance(Position.start(4), _for_loader(log), NAMES, ((0, 512),), step)
    np.testing.assert_array_equal(later.of, expected.counts)
    odd = [Revision("config:1", 1, 0, {"web": 333_333, "code": 333_334, "books": 333_333})]
    with pytest.raises(TooFarError):
        Replay(Weights(odd, NAMES), 512).advance(Counts(0, (0,) * 4), [0] * 4, step)


def _sealed(attempt: int, lineage: str, *changes: tuple[str, int]) -> list[Sealed]:
    return [Sealed(Revision(name, 1, step, {"web": 1_000_000}), lineage, attempt) for name, step in changes]


def test_a_lineage_holds_up_to_where_the_next_begins() -> None:
    sealed: list[Any] = [
        *_sealed(1, "a", ("config:1", 0), ("service:2", 10), ("service:3", 30)),
        *_sealed(2, "b", ("config:1", 0), ("service:4", 20)),
    ]
    sealed.sort(key=lambda each: each.revision.from_step)
    attempts = {1: Begun("a", None), 2: Begun("b", "a")}
    whole = _sealed(2, "b", ("service:4", 20))
    assert [each.id for each in log_of(sealed, attempts)] == ["config:1", "service:4"]
    rest = [each for each in sealed if each.attempt_number == 1] + whole
    assert [each.id for each in log_of(rest, attempts)] == ["config:1", "service:2", "service:4"]
    assert log_of([], attempts) == []
