"""Which source each next sequence comes from: exact integers, a pure function of the log of weight changes.

Weights are whole parts per million. Each source keeps an accumulator: a million times the exact integral of its weight,
less a million for each sequence delivered, so that the accumulators always sum to zero. The next sequence goes by quota
and deadline (Tijdeman 1980, *The chairman assignment problem*): among the sources that are owed at least
1/(2K − 2) of a sequence, the one whose deficit would first reach d = 1 − 1/(2K − 2); once any is beyond d, the one that
is owed most.

How far K sources can be from their integrals after any sequence (proofs in `docs/decisions/0006-mix-bounds.md`):

- at constant weights from the start, at most d on either side;
- through any log of changes that pauses no source while it is owed, less than 1 ahead, and at most
  1/2 + … + 1/K + d < 1 + ln K behind;
- with pauses no rule can promise that: K/4 on either side can be forced on it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from numbers import Rational

import numpy as np
import numpy.typing as npt

from headrace.errors import ConfigError
from headrace.kernels import compiled
from headrace.weights import check_names, check_weight

Ints = npt.NDArray[np.int64]

PPM = 1_000_000
"weights sum to this"


@dataclass(frozen=True, slots=True)
class Revision:
    """One change of the mix, agreed for all ranks."""

    id: str
    "`config:1`, `service:3` or `local:<attempt>:1`"
    from_step: int
    "the first step it touches"
    weights_ppm: Mapping[str, int]
    "by source name; sums to 1,000,000"
    ramp_steps: int = 0
    "0: at once; n: linear from the weights in force, full at `from_step + n`"
    lineage: str | None = None
    "the lineage that this change opens, where it departs from a recorded one"

    @property
    def version(self) -> int | None:
        """The service's version number, or None for a revision of other origin."""
        origin, _, number = self.id.partition(":")
        return int(number) if origin == "service" else None


def weights_to_ppm(weights: Mapping[str, float], sources: Sequence[str]) -> dict[str, int]:
    """Normalise weights on any scale to whole parts per million, in the order of `sources`.

    By largest remainder, ties by source order; computed exactly, so that every machine gives the same answer.

    Raises:
        ConfigError: a name that is not a source, a source without a weight, a weight that is not finite or is
            negative, weights that are all zero, or a positive weight below half a millionth.
    """
    check_names(weights, sources)
    for name in sources:
        check_weight(name, weights[name])
    exact = [_exactly(weights[name]) for name in sources]
    total = sum(exact)
    if total == 0:
        raise ConfigError("every weight is 0; at least one source must have a positive weight")
    ppm = largest_remainder([value * PPM / total for value in exact])
    for name, value, share in zip(sources, exact, ppm, strict=True):
        if value > 0 and share == 0:
            raise ConfigError(
                f"weight of {name!r} is {weights[name]}, a share of {float(value / total):.2g}; the smallest is one "
                "part in a million; raise it, or set it to 0 to pause the source"
            )
    return dict(zip(sources, ppm, strict=True))


def _exactly(weight: float) -> Fraction:
    # NumPy's narrow floats are no kind that Fraction takes, and each is exactly some float.
    number: object = weight
    return Fraction(number) if isinstance(number, Rational) else Fraction(float(weight))


def largest_remainder(quotas: Sequence[Fraction]) -> list[int]:
    """Whole numbers nearest to `quotas`, which sum to 1,000,000, that do so too; ties by order."""
    floors = [int(quota) for quota in quotas]
    missing = PPM - sum(floors)
    by_remainder = sorted(range(len(quotas)), key=lambda k: (floors[k] - quotas[k], k))
    for k in by_remainder[:missing]:
        floors[k] += 1
    return floors


def weights_at(log: Sequence[Revision], step: int, sources: Sequence[str]) -> dict[str, int]:
    """The weights in force at `step`: parts per million by source, summing to 1,000,000.

    `log` is in the order of agreement, with `from_step` never falling; its first entry must begin at or before `step`.
    Of two changes at one step the later wins. A source that a revision does not name has weight 0.
    """
    last = next(i for i in reversed(range(len(log))) if log[i].from_step <= step)
    # Back to the newest change that was complete before the next one began, then on through the ramps since.
    until = step
    ramps: list[tuple[Revision, int]] = []
    while last > 0 and until - log[last].from_step < log[last].ramp_steps:
        ramps.append((log[last], until - log[last].from_step))
        until = log[last].from_step
        last -= 1
    weights = [log[last].weights_ppm.get(name, 0) for name in sources]
    for revision, done in reversed(ramps):
        ramp = revision.ramp_steps
        target = [revision.weights_ppm.get(name, 0) for name in sources]
        moved = [Fraction(a * (ramp - done) + b * done, ramp) for a, b in zip(weights, target, strict=True)]
        weights = largest_remainder(moved)
    return dict(zip(sources, weights, strict=True))


def weight_array(log: Sequence[Revision], step: int, sources: Sequence[str]) -> Ints:
    """`weights_at` in the order of `sources`: int64 (K,)."""
    by_name = weights_at(log, step, sources)
    return np.array([by_name[name] for name in sources], np.int64)


def revision_at(log: Sequence[Revision], step: int) -> Revision:
    """The newest revision that touches `step`."""
    if log[-1].from_step <= step:  # nearly always, and asked every step
        return log[-1]
    return next(revision for revision in reversed(log) if revision.from_step <= step)


@compiled
def _first_deadline(weights: Ints, accumulators: Ints, due: np.int64, horizon: np.int64, scale: np.int64) -> int:
    """Of the sources that are owed at least `due`, one at least, that whose deficit would first reach the horizon."""
    best = -1
    best_slack = np.int64(0)
    best_weight = np.int64(0)
    for k in range(weights.shape[0]):
        if accumulators[k] >= due and weights[k] > 0:
            slack = horizon - accumulators[k] * scale
            if best < 0 or slack * best_weight < best_slack * weights[k]:
                best, best_slack, best_weight = k, slack, weights[k]
    return best


@compiled
def assign(weights: Ints, accumulators: Ints, chosen: npt.NDArray[np.int32]) -> None:
    """Choose the source of each next sequence, in order.

    Args:
        weights: int64 (K,), parts per million, at least one positive.
        accumulators: int64 (K,), updated in place.
        chosen: int32 (n,), filled with source numbers.
    """
    num_sources = weights.shape[0]
    scale = np.int64(max(2 * num_sources - 2, 1))
    horizon = PPM * (scale - 1)
    due, overdue = (PPM + scale - 1) // scale, horizon // scale
    least = np.int64(-1) << 62
    for i in range(chosen.shape[0]):
        # The most that any is owed says which rule holds; this loop has no branches, so it runs several at once.
        most = least
        for k in range(num_sources):
            accumulators[k] += weights[k]
            most = max(most, accumulators[k] if weights[k] > 0 else least)
        best = 0
        if due <= most <= overdue:
            best = _first_deadline(weights, accumulators, due, horizon, scale)
        else:
            # One is overdue, or none is owed enough, as where others are paused: the one that is owed most.
            while accumulators[best] < most or weights[best] == 0:
                best += 1
        accumulators[best] -= PPM
        chosen[i] = best


@compiled
def assign_steps(
    weights: Ints, sizes: Ints, before: Ints, accumulators: Ints, taken: Ints, scratch: npt.NDArray[np.int32]
) -> None:
    """`assign` for the sequences of one step after the other.

    Args:
        weights: int64 (S, K), parts per million in each step, at least one positive.
        sizes: int64 (S,), sequences of each.
        before: int64 (K,), the accumulators before the first.
        accumulators: int64 (S, K), filled with those after each.
        taken: int64 (S, K), filled with the sequences of each source in each.
        scratch: int32, as long as the largest step at least.
    """
    for step in range(sizes.shape[0]):
        for k in range(before.shape[0]):
            accumulators[step, k] = before[k] if step == 0 else accumulators[step - 1, k]
            taken[step, k] = 0
        chosen = scratch[: sizes[step]]
        assign(weights[step], accumulators[step], chosen)
        for i in range(chosen.shape[0]):
            taken[step, chosen[i]] += 1
