"""The counts at any step, from those at an earlier one and the log of changes: without planning the steps between.

At constant weights the choice of sources repeats itself: after 1,000,000 / gcd(weights) sequences the integrals are
whole numbers again, so the accumulators can only return to one of few values. Whole cycles are skipped by arithmetic;
what is left, less than two cycles for each change of weights, is assigned in one compiled loop.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from headrace.kernels import compiled
from headrace.mix import PPM, Revision, assign, revision_at, weights_at
from headrace.plan import Position

Ints = npt.NDArray[np.int64]

_CHUNK = 1 << 16


@compiled
def _assign_many(weights: Ints, accumulators: Ints, num_sequences: int, chosen: npt.NDArray[np.int32]) -> None:
    """`assign` for `num_sequences` sequences, of which only the accumulators are kept; `chosen` is scratch."""
    left = num_sequences
    while left > 0:
        take = min(left, chosen.shape[0])
        assign(weights, accumulators, chosen[:take])
        left -= take


def advance(
    position: Position, log: Sequence[Revision], names: Sequence[str], num_sequences: int, step: int
) -> Position:
    """The position before `step`, given that before an earlier one.

    Args:
        position: known; `position.step` ≤ `step`.
        log: every change that touches the steps between, in the order of agreement.
        names: the sources, K of them.
        num_sequences: the global batch size.
        step: the step to reach.

    Equal to planning every step between; costs the same however many there are.
    """
    counts, accumulators, at = position.counts.copy(), position.accumulators.copy(), position.step
    for stop in _changes(log, at, step):
        by_name = weights_at(log, at, names)
        weights = np.array([by_name[name] for name in names], np.int64)
        total = (stop - at) * num_sequences
        before = accumulators.copy()
        _advance_constant(weights, accumulators, total)
        # Each sequence adds every weight and takes a million from the chosen source.
        counts += (before + weights * total - accumulators) // PPM
        at = stop
    return Position(step, counts, accumulators)


def _changes(log: Sequence[Revision], first: int, last: int) -> list[int]:
    """The steps in `(first, last]` at which the weights may change, `last` included."""
    stops = []
    at = first
    while at < last:
        revision = revision_at(log, at)
        later = [other.from_step for other in log if at < other.from_step]
        ramping = revision.from_step + revision.ramp_steps > at
        at = min([last, at + 1 if ramping else last, *later])
        stops.append(at)
    return stops


def _advance_constant(weights: Ints, accumulators: Ints, num_sequences: int) -> None:
    """Move `accumulators` over `num_sequences` sequences at constant weights, skipping whole cycles."""
    period = PPM // math.gcd(PPM, *weights.tolist())
    scratch = np.empty(min(_CHUNK, max(num_sequences, 1)), np.int32)
    seen: dict[bytes, int] = {}
    done = 0
    while num_sequences - done >= period:
        key = accumulators.tobytes()
        if key in seen:
            cycle = done - seen[key]
            done += (num_sequences - done) // cycle * cycle
            break
        seen[key] = done
        _assign_many(weights, accumulators, period, scratch)
        done += period
    _assign_many(weights, accumulators, num_sequences - done, scratch)
