"""Finite runs: sources that are used up, and what the others then get.

A source with a cap delivers that many sequences and no more. It is clamped inside the step: from the sequence at which
it is used up, the others share its place by their weights, within the same step. All pure: a cap and the counts say
what is left, so nothing here is state.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from headrace.kernels import compiled
from headrace.mix import PPM, assign, largest_remainder

Ints = npt.NDArray[np.int64]

NO_CAP = 1 << 62
"the cap of a source that goes on for ever"


def cap_of(epochs: float | Fraction | None, total_tokens: int, seq_len: int) -> int:
    """Sequences of a source in `epochs` passes over its tokens; the last may be padded. None: no cap."""
    if epochs is None:
        return NO_CAP
    tokens = Fraction(epochs) * total_tokens
    return -(-tokens.numerator // (tokens.denominator * seq_len))


def end_of(epochs: float | Fraction | None, total_tokens: int) -> int | None:
    """The place in the endless stream past which a finite source delivers nothing: the end of its last epoch."""
    return None if epochs is None else math.ceil(Fraction(epochs)) * total_tokens


@compiled
def _assign_until(weights: Ints, accumulators: Ints, left: Ints, chosen: npt.NDArray[np.int32]) -> np.int64:
    """`assign` one sequence at a time until a source has none left; returns how many were assigned."""
    for i in range(chosen.shape[0]):
        assign(weights, accumulators, chosen[i : i + 1])
        source = chosen[i]
        left[source] -= 1
        if left[source] == 0:
            return np.int64(i + 1)
    return np.int64(chosen.shape[0])


def live_weights(weights: Ints, left: Ints) -> Ints | None:
    """The weights over the sources that are not used up, summing to 1,000,000 again; None where none has weight."""
    live = np.where(left > 0, weights, 0)
    total = int(live.sum())
    if total == 0:
        return None
    if total == PPM:
        return live
    return np.array(largest_remainder([Fraction(int(w) * PPM, total) for w in live]), np.int64)


def retire(weights: Ints, accumulators: Ints, left: Ints) -> None:
    """Hand what used-up sources are owed, or had too much, to the live source of the largest weight."""
    over = (left <= 0) & (accumulators != 0)
    if over.any():
        heir = int(np.argmax(np.where(left > 0, weights, -1)))
        moved = int(accumulators[over].sum())
        accumulators[over] = 0
        accumulators[heir] += moved


def assign_capped(weights: Ints, accumulators: Ints, left: Ints, chosen: npt.NDArray[np.int32]) -> int:
    """Choose the source of each next sequence where sources can be used up.

    Args:
        weights: int64 (K,), parts per million in force.
        accumulators: int64 (K,), updated in place.
        left: int64 (K,), sequences that each source still has; updated in place.
        chosen: int32 (n,), filled from the start.

    Returns:
        How many of `chosen` were filled: fewer than n only when no source with weight has any left.
    """
    done = 0
    while done < len(chosen):
        live = live_weights(weights, left)
        if live is None:
            break
        retire(live, accumulators, left)
        done += int(_assign_until(live, accumulators, left, chosen[done:]))
    return done


@dataclass(frozen=True, slots=True)
class Ending:
    """When a run ends, and how."""

    caps: Ints
    "int64 (K,): sequences that each source has in all, or `NO_CAP`"
    stops: bool
    "whether the first source to be used up ends the run; else the others take its place"
    drops: bool
    "whether sequences that don't fill a last step are left out; else that step is padded"

    @property
    def clamps(self) -> Ints | None:
        """Caps to clamp sources at; None where the run stops before it would reach one."""
        return None if self.stops else self.caps

    def is_over(self, counts: Ints, filled: int, num_sequences: int) -> bool:
        """Whether a step that would lead to `counts`, with `filled` of its `num_sequences` slots, is not to be."""
        if self.stops:
            return bool((counts > self.caps).any())
        return filled == 0 or (self.drops and filled < num_sequences)

    def num_steps(
        self, weights: Ints, steps_within: Callable[[int], int], counts_at: Callable[[int], Ints]
    ) -> int | None:
        """Steps of the whole run if the mix stays as it is; None if it has no end.

        Args:
            weights: int64 (K,), parts per million.
            steps_within: whole steps that a number of sequences makes.
            counts_at: the counts before a step, were there no end.
        """
        if not self.stops:
            if (self.caps[weights > 0] == NO_CAP).any():
                return None
            total = int(self.caps[weights > 0].sum())
            return steps_within(total) if self.drops else steps_within(total - 1) + 1
        capped = (self.caps < NO_CAP) & (weights > 0)
        if not capped.any():
            return None
        # Of n sequences a source has more than n times its weight less the number of sources: that ends the search.
        furthest = int(((self.caps[capped] + len(weights)) * PPM // weights[capped]).min())
        # Counts only grow, so the last step within all caps is found by halving.
        low, high = 0, 1 + steps_within(furthest)
        while low < high:
            middle = (low + high + 1) // 2
            low, high = (middle, high) if (counts_at(middle) <= self.caps).all() else (low, middle - 1)
        return low
