"""The steps of a run by what they deliver: an ordinal of a source → its step and slot, over every era."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from headrace.courses import Courses
from headrace.ends import Ending
from headrace.eras import Era
from headrace.locate import MAX_SEQUENCES, step_of
from headrace.mix import Revision, weight_array
from headrace.plan import Position, StepPlan, plan_step, size_at
from headrace.replay import advance


@dataclass(frozen=True, slots=True)
class _Part:
    """An era, as far as its counts can be replayed."""

    era: Era
    first_step: int
    last_step: int
    known: dict[int, Position]


class Steps:
    """Counts at any step, remembered once they are computed; as they will be if the mix stays as it is."""

    def __init__(
        self,
        eras: Sequence[Era],
        log: Sequence[Revision],
        positions: Sequence[Position],
        ending: Ending | None = None,
    ) -> None:
        """`positions`: known ones, for eras whose first changes are folded away; `ending`: of the last era."""
        self._log = log
        self._parts: list[_Part] = []
        for number, era in enumerate(eras):
            known = {p.step: p for p in (era.position, *positions) if p.step >= max(era.step, log[0].from_step)}
            end = era.step + MAX_SEQUENCES // max(size for _, size in era.batch_sizes)
            if number + 1 < len(eras):
                after = eras[number + 1]
                end = after.step - int(after.changes.get("skipped_steps", 0)) - 1
                known = {step: position for step, position in known.items() if step < after.step}
            if known and min(known) <= end:
                self._parts.append(_Part(era, min(known), end, known))
        if ending is not None:
            self._parts[-1] = self._ended(self._parts[-1], ending)

    @property
    def first_step(self) -> int:
        """The first step that is known."""
        return self._parts[0].first_step

    @property
    def last_step(self) -> int:
        """The last step of the run, or as far as counts can be trusted."""
        return self._parts[-1].last_step

    def counts_before(self, step: int, source: str) -> int:
        """Sequences of a source in all steps before `step`, which is known or the one after the last."""
        part = next((part for part in reversed(self._parts) if part.first_step <= step), self._parts[0])
        if source not in part.era.names:
            return 0
        step = min(max(step, part.first_step), part.last_step + 1)
        return self._count(part, part.era.names.index(source), step)

    def step_of(self, source: str, ordinal: int, first_step: int, last_step: int) -> int | None:
        """The step from `first_step` to `last_step` that delivers an ordinal of a source; None: none of them does."""
        for part in self._parts:
            first, last = max(first_step, part.first_step), min(last_step, part.last_step)
            if first > last or source not in part.era.names:
                continue
            count_before = partial(self._count, part, part.era.names.index(source))
            found = step_of(count_before, ordinal, first, last)
            if found is not None:
                return found
        return None

    def slot_of(self, source: str, ordinal: int, step: int, courses: Courses, names: Sequence[str]) -> int:
        """The slot of an ordinal in the global batch of its step.

        Args:
            source: its name.
            ordinal: the source's own number of the sequence.
            step: the step that delivers it.
            courses: of the sources `names`.
            names: the configured sources.
        """
        part = next(part for part in self._parts if part.first_step <= step <= part.last_step)
        plan = self._plan(part, step, courses, names)
        k = part.era.names.index(source)
        return int(np.flatnonzero((plan.sources == k) & (plan.ordinals == ordinal))[0])

    def _plan(self, part: _Part, step: int, courses: Courses, names: Sequence[str]) -> StepPlan:
        era = part.era
        own = [courses[names.index(name)] for name in era.names]
        caps = None if era.caps is None else np.array(era.caps, np.int64)
        weights = weight_array(self._log, step, era.names)
        return plan_step(self._position(part, step), weights, size_at(era.batch_sizes, step), own, caps)

    def is_over(self, step: int, ending: Ending) -> bool:
        """Whether a run that ends so has ended before `step`, a step of its last era."""
        part = self._parts[-1]
        before, after = self._position(part, step).counts, self._position(part, step + 1).counts
        size = size_at(part.era.batch_sizes, step)
        return ending.is_over(after, int((after - before).sum()), size)

    def _ended(self, part: _Part, ending: Ending) -> _Part:
        """The last era of a run, up to its last step."""
        low, high = part.first_step, part.last_step + 1  # the first step that is over lies in [low, high]
        while low < high:
            middle = (low + high) // 2
            low, high = (low, middle) if self.is_over(middle, ending) else (middle + 1, high)
        return replace(part, last_step=low - 1)

    def _count(self, part: _Part, source: int, step: int) -> int:
        return int(self._position(part, step).counts[source])

    def _position(self, part: _Part, step: int) -> Position:
        position = part.known.get(step)
        if position is None:
            near = part.known[max(known for known in part.known if known <= step)]
            caps = None if part.era.caps is None else np.array(part.era.caps, np.int64)
            position = advance(near, self._log, part.era.names, part.era.batch_sizes, step, caps)
            part.known[step] = position
        return position
