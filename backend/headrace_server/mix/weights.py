"""Weights as people write them → parts per million. Pure and exact; the loader has the same function.

Largest remainder on exact rationals: the result never depends on how floats add up, ties go by source order.
"""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from math import isfinite

PPM = 1_000_000


class WeightError(ValueError):
    """A weight that can't be used; ``source`` is whose (None for all of them)."""

    def __init__(self, message: str, source: str | None = None, value: object = None) -> None:
        super().__init__(message)
        self.source = source
        self.value = value


def _checked(source: str, value: float) -> Fraction:
    if isinstance(value, bool) or not isinstance(value, int | float) or not isfinite(value) or value < 0:
        raise WeightError(f"weight of {source!r} is {value!r}; weights must be finite and at least 0", source, value)
    return Fraction(value)


def weights_to_ppm(weights: Mapping[str, float], sources: Sequence[str]) -> dict[str, int]:
    """Normalise ``weights`` to integers that sum to 1,000,000, in the order of ``sources``.

    Raises WeightError, naming the source, for a weight that is missing, unknown, negative, not finite, or positive
    and below what one part per million can hold; and when all are zero.
    """
    for name in weights:
        if name not in sources:
            raise WeightError(f"unknown source {name!r}; the job has {list(sources)}", name, weights[name])
    for name in sources:
        if name not in weights:
            raise WeightError(f"no weight for source {name!r}; give every source one (0 pauses it)", name)
    exact = [_checked(name, weights[name]) for name in sources]
    total = sum(exact)
    if total == 0:
        raise WeightError(f"all weights are 0; at least one of {list(sources)} must be above 0")
    quotas = [weight * PPM / total for weight in exact]
    shares = [int(quota) for quota in quotas]
    by_remainder = sorted(range(len(quotas)), key=lambda i: (shares[i] - quotas[i], i))
    for i in by_remainder[: PPM - sum(shares)]:
        shares[i] += 1
    for name, weight, share in zip(sources, exact, shares, strict=True):
        if weight > 0 and share == 0:
            raise WeightError(
                f"weight of {name!r} is {weights[name]!r}, which rounds to 0 parts per million; "
                "use 0 to pause it or at least a millionth of the total",
                name,
                weights[name],
            )
    return dict(zip(sources, shares, strict=True))
