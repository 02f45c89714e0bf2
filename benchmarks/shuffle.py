"""How well an epoch is shuffled, against a full shuffle of the same sequences: the quality gate, printed.

Model: a sequence's value is its blocks' effects, weighted by their tokens, plus noise of its own, such that sequences
of one block correlate by 0.05. The mean of a batch then has a variance, and a covariance with later batches, that
follow exactly from how many tokens of which block each batch holds; nothing is sampled but the blocks' sizes.

    python -m benchmarks.shuffle

Exit status 1 where a case misses the gate: a batch's variance at most 1.02 of a full shuffle's, and no autocorrelation
of batch means at lags 1 to 16 above 0.02 in size.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from headrace.order import SourceOrder, Spans

Floats = npt.NDArray[np.float64]

INTRA_BLOCK = 0.05
LAGS = range(1, 17)
MAX_DESIGN_EFFECT = 1.02
MAX_LAG = 0.02

CASES = (
    (20_000, 0.7, 512),
    (8_000, 3.0, 512),
    (6_000, 7.9, 512),
    (7_000, 11.3, 512),
    (600, 8.0, 512),
    (1_000, 8.0, 512),
    (2_500, 8.0, 512),
)
"""Blocks of a source, sequences in each on average, lanes; the last three are too small for all lanes."""


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
    """Exactly what the model says of batches that hold these `shares`."""
    own = (1 - INTRA_BLOCK) * batch_size
    variance = own + INTRA_BLOCK * (table**2).sum(axis=1).mean()
    lags = [INTRA_BLOCK * (table[lag:] * table[:-lag]).sum(axis=1).mean() / variance for lag in LAGS]
    return Quality(variance / batch_size, max(lags, key=abs))


def order_of(num_blocks: int, block_sequences: float, lanes: int, *, spread: float = 0.3) -> SourceOrder:
    """A source of `num_blocks` blocks whose sizes vary by `spread`."""
    rng = np.random.default_rng(5)
    sizes = np.maximum(1, rng.normal(block_sequences * 100, spread * block_sequences * 100, num_blocks))
    return SourceOrder(seed=3, name="web", seq_len=100, lanes=lanes, block_tokens=sizes.astype(np.int64))


@dataclass(frozen=True)
class Verdict:
    """One case, next to a full shuffle of the same sequences."""

    num_blocks: int
    block_sequences: float
    num_lanes: int
    window: int
    batch_size: int
    ours: Quality
    full: Quality

    @property
    def passes(self) -> bool:
        """Whether it meets the gate."""
        effect = self.ours.design_effect / self.full.design_effect
        return effect <= MAX_DESIGN_EFFECT and abs(self.ours.worst_lag) <= MAX_LAG

    def __str__(self) -> str:
        return (
            f"{self.num_blocks:>7,}{self.block_sequences:>10.1f}{self.num_lanes:>7}{self.window:>8}"
            f"{self.batch_size:>6}{self.ours.design_effect:>9.4f}{self.full.design_effect:>9.4f}"
            f"{self.ours.worst_lag:>+9.4f}{self.full.worst_lag:>+9.4f}  {'ok' if self.passes else 'MISSED'}"
        )


HEADER = (
    f"{'blocks':>7}{'sequences':>10}{'lanes':>7}{'window':>8}{'G':>6}"
    f"{'effect':>9}{'of full':>9}{'lag':>9}{'of full':>9}"
)


def judge(order: SourceOrder, num_blocks: int, batch_size: int) -> Verdict:
    """The whole batches of the first epoch, and as many of a full shuffle."""
    number = order.total_tokens // order.seq_len // batch_size * batch_size
    spans = order.spans_of(np.arange(number))
    batches = np.arange(number) // batch_size
    shuffled = np.random.default_rng(7).permutation(batches)
    return Verdict(
        num_blocks,
        order.total_tokens / order.seq_len / num_blocks,
        order.num_lanes,
        order.window,
        batch_size,
        quality(shares(spans, batches, num_blocks, order.seq_len), batch_size),
        quality(shares(spans, shuffled, num_blocks, order.seq_len), batch_size),
    )


def main() -> int:
    """Print every case, for G = 64 and G = the lanes in use; returns the exit status."""
    argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter).parse_args()
    print(HEADER)
    passes = True
    for num_blocks, block_sequences, lanes in CASES:
        order = order_of(num_blocks, block_sequences, lanes)
        for batch_size in sorted({64, order.num_lanes}):
            verdict = judge(order, num_blocks, batch_size)
            print(verdict)
            passes = passes and verdict.passes
    return 0 if passes else 1


if __name__ == "__main__":
    raise SystemExit(main())
