"""How many sequences of each source a step takes, from the counts before it. Pure, and in whole numbers.

The loader's rule (``headrace.mix.assign``: quota and deadline), without its compiled loops: what is asked here is a few
thousand sequences at a time. Both are held together by ``tests/contract``.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import gcd

from .revisions import PPM, Weights

MAX_CHOICES = 1_000_000
"""Sources looked at in one answer, all sequences together: about half a second."""


class TooFarError(Exception):
    """More would have to be gone through than one answer may take."""


@dataclass(frozen=True)
class Counts:
    """Sequences of each source in all global batches before ``step``."""

    step: int
    of: tuple[int, ...]


class Replay:
    """Goes through steps of ``global_batch_size`` sequences from known counts, within a budget of choices."""

    def __init__(self, weights: Weights, global_batch_size: int, budget: int = MAX_CHOICES) -> None:
        self._weights = weights
        self._size = global_batch_size
        self._left = budget

    def owed(self, counts: Counts) -> list[int]:
        """What each source is owed before a step (millionths of a sequence), from the integral of its weight.

        Raises TooFarError where ramps make that integral too long a sum.
        """
        self._spend(self._weights.num_stretches(0, counts.step) * len(counts.of))
        owed = [-PPM * count for count in counts.of]
        for first, end in self._weights.stretches(0, counts.step):
            for k, weight in enumerate(self._weights.at(first)):
                owed[k] += weight * self._size * (end - first)
        return owed

    def advance(self, counts: Counts, owed: Sequence[int], step: int) -> tuple[Counts, list[int]]:
        """The counts before a later step and what is owed there. Raises TooFarError."""
        of, now = list(counts.of), list(owed)
        for first, end in self._weights.stretches(counts.step, step):
            self._take(self._weights.at(first), now, of, (end - first) * self._size)
        return Counts(step, tuple(of)), now

    def _take(self, weights: Sequence[int], owed: list[int], counts: list[int], num_sequences: int) -> None:
        """At constant weights what is owed comes round again after whole periods: those in between are counted."""
        period = PPM // gcd(PPM, *weights)
        seen: dict[tuple[int, ...], int] = {}
        done = 0
        before = list(owed)
        while num_sequences - done >= period:
            key = tuple(owed)
            if key in seen:
                cycle = done - seen[key]
                done += (num_sequences - done) // cycle * cycle
                break
            seen[key] = done
            self._choose(weights, owed, period)
            done += period
        self._choose(weights, owed, num_sequences - done)
        for k, weight in enumerate(weights):
            counts[k] += (before[k] + weight * num_sequences - owed[k]) // PPM

    def _choose(self, weights: Sequence[int], owed: list[int], num_sequences: int) -> None:
        self._spend(num_sequences * len(weights))
        scale = max(2 * len(weights) - 2, 1)
        deadline = PPM * (scale - 1)
        live = [(k, weight) for k, weight in enumerate(weights) if weight]
        for _ in range(num_sequences):
            best, best_rank, best_slack, best_weight = -1, 0, 0, 1
            for k, weight in live:
                owed[k] += weight
                scaled = owed[k] * scale
                slack = deadline - scaled
                rank = 2 if slack < 0 else 1 if scaled >= PPM else 0
                if best < 0 or rank > best_rank:
                    better = True
                elif rank < best_rank:
                    better = False
                elif rank == 1:
                    better = slack * best_weight < best_slack * weight
                else:
                    better = slack < best_slack
                if better:
                    best, best_rank, best_slack, best_weight = k, rank, slack, weight
            owed[best] -= PPM

    def _spend(self, choices: int) -> None:
        self._left -= choices
        if self._left < 0:
            raise TooFarError
