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

from headrace.ends import assign_capped, live_weights, retire
from headrace.kernels import compiled
from headrace.mix import PPM, Revision, assign, revision_at, weight_array
from headrace.plan import BatchSizes, Position, size_at

Ints = npt.NDArray[np.int64]

MARGIN = 64
"sequences that no source is ever ahead of its weight"

_CHUNK = 1 << 16
_MANY = 1 << 42
"sequences a million times as many as which are still whole numbers of 64 bits"


@compiled
def _assign_many(weights: Ints, accumulators: Ints, num_sequences: int, chosen: npt.NDArray[np.int32]) -> None:
    """`assign` for `num_sequences` sequences, of which only the accumulators are kept; `chosen` is scratch."""
    left = num_sequences
    while left > 0:
        take = min(left, chosen.shape[0])
        assign(weights, accumulators, chosen[:take])
        left -= take


def advance(
    position: Position,
    log: Sequence[Revision],
    names: Sequence[str],
    batch_sizes: BatchSizes,
    step: int,
    caps: Ints | None = None,
) -> Position:
    """The position before `step`, given that before an earlier one.

    Args:
        position: known; `position.step` ≤ `step`.
        log: every change that touches the steps between, in the order of agreement.
        names: the sources, K of them.
        batch_sizes: in force at the steps between.
        step: the step to reach.
        caps: int64 (K,), sequences that each source has in all, for a run that ends.

    Equal to planning every step between; costs the same however many there are.
    """
    counts, accumulators, at = position.counts.copy(), position.accumulators.copy(), position.step
    for stop in _changes(log, batch_sizes, at, step):
        weights = weight_array(log, at, names)
        left = None if caps is None else caps - counts
        counts += _advance(weights, accumulators, (stop - at) * size_at(batch_sizes, at), left)
        at = stop
    return Position(step, counts, accumulators)


def _changes(log: Sequence[Revision], batch_sizes: BatchSizes, first: int, last: int) -> list[int]:
    """The steps in `(first, last]` at which weights or batch size may change, `last` included."""
    stops = []
    at = first
    while at < last:
        revision = revision_at(log, at)
        later = [other.from_step for other in log if at < other.from_step]
        later += [from_step for from_step, _ in batch_sizes if at < from_step]
        ramping = revision.from_step + revision.ramp_steps > at
        at = min([last, at + 1 if ramping else last, *later])
        stops.append(at)
    return stops


def _advance(weights: Ints, accumulators: Ints, num_sequences: int, left: Ints | None) -> Ints:
    """Move `accumulators` over a stretch of constant weights; returns each source's sequences in it: int64 (K,)."""
    if left is None:
        before = accumulators.copy()
        _advance_constant(weights, accumulators, num_sequences)
        # Each sequence adds every weight and takes a million from the chosen source.
        taken: Ints = (before + weights * num_sequences - accumulators) // PPM
        return taken
    counts = np.zeros_like(weights)
    while num_sequences:
        live = live_weights(weights, left)
        if live is None:
            break
        retire(live, accumulators, left)
        # Up to a little before the next source is used up nothing is clamped; then one sequence after another.
        room = np.minimum(left, _MANY) - MARGIN
        ahead = np.where(live > 0, room * PPM // np.maximum(live, 1), num_sequences)
        free = max(0, min(num_sequences, int(ahead.min())))
        taken = _advance(live, accumulators, free, None)
        scratch = np.empty(min(num_sequences - free, _CHUNK), np.int32)
        left -= taken
        done = assign_capped(weights, accumulators, left, scratch)
        counts += taken + np.bincount(scratch[:done], minlength=len(weights))
        num_sequences -= free + done
        if done < len(scratch):
            break
    return counts


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
