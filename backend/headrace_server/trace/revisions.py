"""The log of a run's mix from the record of its activations, and the weights in force at a step. Pure.

The loader's own rules (``headrace.recorded``, ``headrace.mix``), as both must name the same: held together by
``tests/contract``.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

PPM: Final = 1_000_000


@dataclass(frozen=True)
class Revision:
    """A change of the mix as it took effect: ``from_step`` is the first step with it, weights are in ppm."""

    id: str
    version: int
    from_step: int
    weights_ppm: Mapping[str, int]
    ramp_steps: int = 0


@dataclass(frozen=True)
class Sealed:
    """A revision as a leader recorded it, with its lineage and the number of the attempt that recorded it."""

    revision: Revision
    lineage: str
    attempt_number: int


@dataclass(frozen=True)
class Begun:
    """In which lineage an attempt began, and the one that it departs from."""

    lineage: str
    parent_lineage: str | None


def log_of(sealed: Sequence[Sealed], attempts: Mapping[int, Begun]) -> list[Revision]:
    """The changes that the newest lineage is made of, by step; ``sealed`` in the order of effect, as recorded.

    Each lineage holds up to where the next one begins.
    """
    by_id: dict[str, Revision] = {}
    lineages = _lineages(sealed, attempts)
    for number, lineage in enumerate(lineages):
        later = lineages[number + 1 :]
        until = min((each.revision.from_step for each in sealed if each.lineage in later), default=None)
        for each in sealed:
            if each.lineage == lineage and (until is None or each.revision.from_step < until):
                by_id[each.revision.id] = each.revision
    return sorted(by_id.values(), key=lambda revision: revision.from_step)


def _lineages(sealed: Sequence[Sealed], attempts: Mapping[int, Begun]) -> list[str]:
    parents: dict[str, str | None] = {}
    newest: tuple[int, str] | None = None
    for each in sealed:
        begun = attempts[each.attempt_number]
        parent = begun.parent_lineage if each.lineage == begun.lineage else begun.lineage
        if parents.get(each.lineage) is None:
            parents[each.lineage] = None if parent == each.lineage else parent
        if newest is None or each.attempt_number >= newest[0]:
            newest = (each.attempt_number, each.lineage)
    chain: list[str] = []
    current = None if newest is None else newest[1]
    while current is not None and current not in chain:
        chain.insert(0, current)
        current = parents.get(current)
    return chain


def revision_at(log: Sequence[Revision], step: int) -> Revision | None:
    """The newest revision that touches ``step``; None before the first."""
    return next((revision for revision in reversed(log) if revision.from_step <= step), None)


class Weights:
    """The weights in force at any step of a log (ppm, in the order of ``names``, summing to 1,000,000)."""

    def __init__(self, log: Sequence[Revision], names: Sequence[str]) -> None:
        self._log = log
        self._full = [[revision.weights_ppm.get(name, 0) for name in names] for revision in log]
        # What each revision departs from; a ramp that is cut short is left where it got to.
        self._before: list[list[int] | None] = []
        for number, revision in enumerate(log):
            self._before.append(None if number == 0 else self._of(number - 1, revision.from_step))

    def at(self, step: int) -> list[int]:
        """The weights of a step at or after the log's first."""
        number = next(i for i in reversed(range(len(self._log))) if self._log[i].from_step <= step)
        return self._of(number, step)

    def _of(self, number: int, step: int) -> list[int]:
        revision, before, full = self._log[number], self._before[number], self._full[number]
        done = step - revision.from_step
        if before is None or done >= revision.ramp_steps:
            return full
        return _between(before, full, done, revision.ramp_steps)

    def stretches(self, first: int, end: int) -> list[tuple[int, int]]:
        """The steps from ``first`` to before ``end`` in stretches of constant weights; each step of a ramp is one."""
        found: list[tuple[int, int]] = []
        while first < end:
            revision = revision_at(self._log, first)
            assert revision is not None, "a step before the log"
            stop = min([end, *(later.from_step for later in self._log if later.from_step > first)])
            if first < revision.from_step + revision.ramp_steps:
                stop = first + 1
            found.append((first, stop))
            first = stop
        return found

    def num_stretches(self, first: int, end: int) -> int:
        """At most this many stretches there are, without listing them."""
        ramps = (
            max(0, min(end, revision.from_step + revision.ramp_steps) - max(first, revision.from_step))
            for revision in self._log
        )
        return len(self._log) + 1 + sum(ramps)


def _between(before: Sequence[int], after: Sequence[int], done: int, ramp_steps: int) -> list[int]:
    """``done`` of ``ramp_steps`` along a straight line, by largest remainder, ties by order."""
    parts = [divmod(a * (ramp_steps - done) + b * done, ramp_steps) for a, b in zip(before, after, strict=True)]
    weights = [whole for whole, _ in parts]
    missing = PPM - sum(weights)
    for k in sorted(range(len(parts)), key=lambda k: (-parts[k][1], k))[:missing]:
        weights[k] += 1
    return weights
