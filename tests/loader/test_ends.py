"""Finite runs: each source as often as asked, the same number of steps on every rank, known beforehand."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from headrace.ends import NO_CAP, Ending, assign_capped, cap_of, end_of, live_weights
from headrace.mix import PPM, Revision, weights_to_ppm
from headrace.order import SourceOrder
from headrace.plan import Ints, Position, StepPlan, plan_step
from headrace.replay import advance
from hypothesis import example, given, settings
from hypothesis import strategies as st


@dataclass(frozen=True)
class Run:
    """A run that ends."""

    block_tokens: list[list[int]]
    epochs: list[float]
    weights: list[int]
    seq_len: int
    num_sequences: int
    shuffle: bool

    @property
    def names(self) -> list[str]:
        return [f"s{k}" for k in range(len(self.epochs))]

    @property
    def log(self) -> list[Revision]:
        return [Revision("config:1", 0, weights_to_ppm(dict(zip(self.names, self.weights, strict=True)), self.names))]

    @property
    def ppm(self) -> Ints:
        return np.array([self.log[0].weights_ppm[name] for name in self.names], np.int64)

    @property
    def caps(self) -> Ints:
        totals = [sum(blocks) for blocks in self.block_tokens]
        pairs = zip(self.epochs, totals, strict=True)
        return np.array([cap_of(epochs, total, self.seq_len) for epochs, total in pairs], np.int64)

    def orders(self) -> list[SourceOrder]:
        return [
            SourceOrder(
                seed=3,
                name=name,
                seq_len=self.seq_len,
                lanes=64,
                block_tokens=np.array(blocks, np.int64),
                shuffle=self.shuffle,
                end=end_of(epochs, sum(blocks)),
            )
            for name, blocks, epochs in zip(self.names, self.block_tokens, self.epochs, strict=True)
        ]

    def plans(self, ending: Ending) -> list[StepPlan]:
        orders, plans, position = self.orders(), [], Position.start(len(self.epochs))
        while True:
            plan = plan_step(position, self.ppm, self.num_sequences, orders, ending.clamps)
            if ending.is_over(plan.after.counts, len(plan.sources), self.num_sequences):
                return plans
            plans.append(plan)
            position = plan.after


@st.composite
def runs(draw: st.DrawFn) -> Run:
    num_sources = draw(st.integers(1, 4))
    some = {"min_size": num_sources, "max_size": num_sources}
    blocks = st.lists(st.integers(1, 60), min_size=1, max_size=20)
    return Run(
        draw(st.lists(blocks, **some)),
        draw(st.lists(st.sampled_from((0.5, 1, 1.3, 2, 3)), **some)),
        draw(st.lists(st.integers(1, 100), **some)),
        draw(st.integers(2, 20)),
        draw(st.integers(1, 30)),
        draw(st.booleans()),
    )


@settings(max_examples=80, deadline=None)
@given(runs())
def test_whole_epochs_deliver_every_token_that_often(run: Run) -> None:
    """Whatever the weights, shuffled or not, and never a token more."""
    orders = run.orders()
    pieces: dict[tuple[int, int, int], list[tuple[int, int]]] = {}
    for plan in run.plans(Ending(run.caps, stops=False, drops=False)):
        for k in np.unique(plan.sources).tolist():
            spans = orders[k].spans_of(plan.ordinals[plan.sources == k])
            for where in zip(spans.epoch, spans.block, spans.offset, spans.count, strict=True):
                epoch, block, offset, count = map(int, where)
                pieces.setdefault((k, epoch, block), []).append((offset, count))
    for k, epochs in enumerate(run.epochs):
        if epochs != int(epochs):
            continue
        for epoch in range(int(epochs) + 1):
            for block, size in enumerate(run.block_tokens[k]):
                at = 0
                for offset, count in sorted(pieces.get((k, epoch, block), [])):
                    assert offset == at
                    at += count
                assert at == (size if epoch < epochs else 0)


@settings(max_examples=80, deadline=None)
@given(runs(), st.booleans(), st.booleans())
# Every source lags behind its share, so that the run ends later than any of their weights says.
@example(Run([[1], [29], [1]], [0.5, 0.5, 0.5], [1, 9, 2], 2, 1, False), True, False)
def test_the_number_of_steps_is_known_beforehand(run: Run, stops: bool, drops: bool) -> None:
    ending = Ending(run.caps, stops=stops, drops=drops)
    start = Position.start(len(run.epochs))

    def counts_at(step: int) -> Ints:
        return advance(start, run.log, run.names, ((0, run.num_sequences),), step).counts

    plans = run.plans(ending)
    assert ending.num_steps(run.ppm, lambda total: total // run.num_sequences, counts_at) == len(plans)
    if stops or drops:
        assert all(len(plan.sources) == run.num_sequences for plan in plans)
    if not stops:
        delivered = plans[-1].after.counts if plans else start.counts
        assert 0 <= (run.caps - delivered).sum() < (run.num_sequences if drops else 1)


@settings(max_examples=60, deadline=None)
@given(runs())
def test_replay_reaches_every_step_of_a_run_that_ends(run: Run) -> None:
    position = Position.start(len(run.epochs))
    for plan in run.plans(Ending(run.caps, stops=False, drops=False)):
        start, sizes = Position.start(len(run.epochs)), ((0, run.num_sequences),)
        reached = advance(start, run.log, run.names, sizes, plan.step, run.caps)
        assert reached.counts.tolist() == position.counts.tolist()
        assert reached.accumulators.tolist() == position.accumulators.tolist()
        position = plan.after


def test_the_place_of_a_used_up_source_is_shared_within_the_step() -> None:
    """M01: a source near its end is clamped at it, and nothing runs off the end or goes unfilled."""
    weights = np.array([900_000, 60_000, 40_000], np.int64)
    accumulators, chosen = np.zeros(3, np.int64), np.empty(100, np.int32)
    assert assign_capped(weights, accumulators, np.array([5, NO_CAP, NO_CAP]), chosen) == 100
    counts = np.bincount(chosen, minlength=3)
    assert counts[0] == 5
    assert abs(counts[1] - 95 * 0.6) <= 1.5
    assert accumulators.sum() == 0


def test_a_zero_weight_source_does_not_keep_a_run_alive() -> None:
    """M05: the run ends when every source with weight is used up."""
    left = np.array([3, 1000], np.int64)
    chosen = np.empty(10, np.int32)
    assert assign_capped(np.array([PPM, 0]), np.zeros(2, np.int64), left, chosen) == 3
    assert live_weights(np.array([PPM, 0]), np.array([0, 997])) is None
    ending = Ending(np.array([3, NO_CAP]), stops=False, drops=False)
    assert ending.num_steps(np.array([PPM, 0]), lambda total: total // 2, lambda _: left) == 2


@pytest.mark.parametrize(("epochs", "cap", "end"), [(1, 4, 10), (2, 7, 20), (0.5, 2, 10), (None, NO_CAP, None)])
def test_caps_count_the_padded_last_sequence(epochs: float | None, cap: int, end: int | None) -> None:
    assert (cap_of(epochs, 10, 3), end_of(epochs, 10)) == (cap, end)
