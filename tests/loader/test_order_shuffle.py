"""How well an epoch is shuffled, against a full shuffle of the same sequences: the gate of DESIGN §3.

Model: a sequence's value is its blocks' effects, weighted by their tokens, plus noise of its own, such that sequences
of one block correlate by 0.05. The mean of a batch then has a variance, and a covariance with later batches, that
follow exactly from how many tokens of which block each batch holds; nothing is sampled but the blocks' sizes.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pytest
from headrace.order import SourceOrder, Spans

Floats = npt.NDArray[np.float64]

INTRA_BLOCK = 0.05
LAGS = range(1, 17)


@dataclass(frozen=True)
class Quality:
    """Of the batches of one epoch."""

    design_effect: float
    "variance of a batch's mean, relative to that of as many independent sequences"
    worst_lag: float
    "the largest autocorrelation of batch means at lags 1 to 16, in size"


def shares(spans: Spans, batch_of: npt.NDArray[np.int64], num_blocks: int, seq_len: int) -> Floats:
    """Sequences' worth of each block in each batch, less what an even mix would hold: (batches, blocks)."""
    batches = batch_of[spans.slot]
    table = np.zeros((int(batch_of.max()) + 1, num_blocks))
    np.add.at(table, (batches, spans.block), spans.count / seq_len)
    centred: Floats = table - table.mean(axis=0)
    return centred


def quality(table: Floats, batch_size: int) -> Quality:
    own = (1 - INTRA_BLOCK) * batch_size
    variance = own + INTRA_BLOCK * (table**2).sum(axis=1).mean()
    lags = [INTRA_BLOCK * (table[lag:] * table[:-lag]).sum(axis=1).mean() / variance for lag in LAGS]
    return Quality(variance / batch_size, max(lags, key=abs))


def order_of(num_blocks: int, block_sequences: float, lanes: int, *, spread: float = 0.3) -> SourceOrder:
    """A source of `num_blocks` blocks whose sizes vary by `spread`."""
    rng = np.random.default_rng(5)
    sizes = np.maximum(1, rng.normal(block_sequences * 100, spread * block_sequences * 100, num_blocks))
    return SourceOrder(seed=3, name="web", seq_len=100, lanes=lanes, block_tokens=sizes.astype(np.int64))


def measure(order: SourceOrder, num_blocks: int, batch_size: int) -> tuple[Quality, Quality]:
    """(ours, a full shuffle's) over the whole batches of the first epoch."""
    number = order.total_tokens // order.seq_len // batch_size * batch_size
    spans = order.spans_of(np.arange(number))
    ours = np.arange(number) // batch_size
    shuffled = np.random.default_rng(7).permutation(ours)
    return (
        quality(shares(spans, ours, num_blocks, order.seq_len), batch_size),
        quality(shares(spans, shuffled, num_blocks, order.seq_len), batch_size),
    )


def judge(order: SourceOrder, num_blocks: int, batch_size: int, capsys: pytest.CaptureFixture[str]) -> None:
    """Print the figures and hold them to the gate."""
    ours, full = measure(order, num_blocks, batch_size)
    with capsys.disabled():
        print(
            f"\nshuffle: {num_blocks} blocks of {order.total_tokens / order.seq_len / num_blocks:.1f} sequences, "
            f"{order.num_lanes} lanes, window {order.window}, G {batch_size}: design effect {ours.design_effect:.4f} "
            f"(full shuffle {full.design_effect:.4f}), worst lag {ours.worst_lag:+.4f} ({full.worst_lag:+.4f})",
            end="",
        )
    assert ours.design_effect / full.design_effect <= 1.02
    assert abs(ours.worst_lag) <= 0.02


@pytest.mark.parametrize("batch_size", [64, 512])
@pytest.mark.parametrize(("block_sequences", "num_blocks"), [(0.7, 20_000), (3.0, 8_000), (7.9, 6_000), (11.3, 7_000)])
def test_a_batch_is_as_good_as_one_of_a_full_shuffle(
    block_sequences: float, num_blocks: int, batch_size: int, capsys: pytest.CaptureFixture[str]
) -> None:
    """With all 512 lanes in use, whatever the size of blocks, for G = 64 and G = lanes."""
    order = order_of(num_blocks, block_sequences, 512)
    assert order.num_lanes == 512
    judge(order, num_blocks, batch_size, capsys)


@pytest.mark.parametrize("num_blocks", [600, 1_000, 2_500])
def test_sources_of_fewer_lanes_are_shuffled_as_well(num_blocks: int, capsys: pytest.CaptureFixture[str]) -> None:
    """A source too small for all lanes, for G = 64 and G = the lanes it uses."""
    order = order_of(num_blocks, 8.0, 512)
    assert 32 <= order.num_lanes < 512
    for batch_size in {64, order.num_lanes}:
        judge(order, num_blocks, batch_size, capsys)


def test_the_gate_tells_windows_of_one_block_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    """The measure is fine enough to fail the design that was tried and dropped."""
    monkeypatch.setattr("headrace.order.WINDOW_BLOCKS", 1)
    order = order_of(5_000, 8.0, 512, spread=0)
    assert order.num_lanes == 512
    assert measure(order, 5_000, 512)[0].worst_lag > 0.02
