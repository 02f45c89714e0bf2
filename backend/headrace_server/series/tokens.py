"""Tokens of a run by step. Pure.

Within an attempt every step has the same number of tokens, so two known points make its whole line: where it went on
from, and how far it has come. That is exact at every step, and needs no report older than the newest.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil, floor

from .segments import Segment, Start


@dataclass(frozen=True)
class Piece:
    """An attempt's line: ``base`` tokens before step ``first``, ``per_step`` (above 0) in each step from there."""

    first: int
    base: float
    per_step: float

    def before(self, step: float) -> float:
        """Tokens of the run before ``step``."""
        return self.base + (step - self.first) * self.per_step

    def step_of(self, num_tokens: float) -> float:
        """The step, with a fraction, through which the run has ``num_tokens``."""
        return (num_tokens - self.base) / self.per_step + self.first - 1


def pieces(starts: Sequence[Start], reached: Mapping[int, tuple[int, int]], tokens_per_step: int) -> dict[int, Piece]:
    """The line of each attempt, ``starts`` in the order they started.

    ``reached`` has (step, tokens of the run through it); ``tokens_per_step`` stands in where an attempt has told none.
    """
    found: dict[int, Piece] = {}
    line: list[Piece] = []
    for start in starts:
        first = start.resumed_from_step or 0
        step, total = reached.get(start.attempt_id, (first - 1, 0))
        num_steps = step + 1 - first
        if start.resumed_from_step is None:
            base = 0.0
        elif earlier := [piece for piece in line if piece.first <= first]:
            base = earlier[-1].before(first)
        else:
            base = max(0.0, total - num_steps * float(tokens_per_step))
        told = (total - base) / num_steps if num_steps > 0 else 0.0
        piece = found[start.attempt_id] = Piece(first, base, told if told > 0 else float(tokens_per_step))
        # It wins from its first step on, as in ``stitch``.
        line = [*(held for held in line if held.first < first), piece]
    return found


@dataclass(frozen=True)
class TokenLine:
    """Tokens over the steps of a stitched line: ``parts`` are (first step, its piece) in order, not empty."""

    parts: Sequence[tuple[int, Piece]]

    @classmethod
    def of(cls, segments: Sequence[Segment], found: Mapping[int, Piece]) -> "TokenLine | None":
        """The line of these segments; None where there is none."""
        parts = [(segment.first, found[segment.attempt_id]) for segment in segments if segment.attempt_id in found]
        return cls(parts) if parts else None

    def before(self, step: float) -> float:
        """Tokens of the run before ``step``."""
        return next((p for first, p in reversed(self.parts) if step >= first), self.parts[0][1]).before(step)

    def through(self, step: float) -> float:
        """Tokens of the run through ``step``."""
        piece = next((p for first, p in reversed(self.parts) if step >= first), self.parts[0][1])
        return piece.before(step + 1)

    def _step_of(self, num_tokens: float) -> float:
        piece = next((p for first, p in reversed(self.parts) if num_tokens > p.before(first)), self.parts[0][1])
        return piece.step_of(num_tokens)

    def first_step(self, num_tokens: float) -> int:
        """The first step through which the run has at least ``num_tokens``."""
        return ceil(self._step_of(num_tokens) - 1e-6)

    def last_step(self, num_tokens: float) -> int:
        """The last step through which the run has at most ``num_tokens``."""
        return floor(self._step_of(num_tokens) + 1e-6)
