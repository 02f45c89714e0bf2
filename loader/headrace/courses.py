"""Where a source's ordinals lie: in which of its legs, and where in that leg's order."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

from headrace.legs import Leg
from headrace.rest import Order

Ints = npt.NDArray[np.int64]


class Orders:
    """The order of each leg, made when it is first asked for; for one thread, as orders remember what they computed."""

    def __init__(self, legs: Sequence[Leg]) -> None:
        self._legs = legs
        self._made: dict[int, Order] = {}

    def __getitem__(self, leg: int) -> Order:
        order = self._made.get(leg)
        if order is None:
            order = self._made[leg] = self._legs[leg].stretch.make_order()
        return order


class Course:
    """The legs of one source, one after another."""

    def __init__(self, first_leg: int, legs: Sequence[Leg], orders: Orders) -> None:
        """`first_leg` is the number, in `orders`, of the first of `legs`."""
        self._first_leg = first_leg
        self._legs = legs
        self._orders = orders
        self._begins = np.array([leg.first_ordinal for leg in legs], np.int64)
        self._shifts = np.array([leg.stretch.skip - leg.first_ordinal for leg in legs], np.int64)

    def locate(self, ordinals: Ints) -> tuple[Ints, Ints]:
        """(leg's number, ordinal in its order) of each ordinal: int64 (n,) twice."""
        legs = np.searchsorted(self._begins, ordinals, side="right") - 1
        return self._first_leg + legs, ordinals + self._shifts[legs]

    def lanes_of(self, ordinals: Ints) -> Ints:
        """The lane of each ordinal, as `SourceOrder.lanes_of`."""
        if len(self._legs) == 1:
            return self._orders[self._first_leg].lanes_of(ordinals)
        out = np.empty(len(ordinals), np.int64)
        for leg, here, inside in self._by_leg(ordinals):
            out[here] = self._orders[leg].lanes_of(inside)
        return out

    def epoch_of(self, ordinal: int) -> int:
        """The pass over the source, from 0, that an ordinal's sequence starts in."""
        found, inside = self.locate(np.array([ordinal], np.int64))
        leg = int(found[0])
        before = self._legs[leg - self._first_leg].stretch.epochs_before
        return before + int(self._orders[leg].epochs_of(inside)[0])

    def _by_leg(self, ordinals: Ints) -> Iterator[tuple[int, npt.NDArray[np.bool_], Ints]]:
        legs, inside = self.locate(ordinals)
        for leg in np.unique(legs).tolist():
            here = legs == leg
            yield leg, here, inside[here]


class Courses:
    """The course of every source."""

    def __init__(self, legs: Sequence[Leg], orders: Orders) -> None:
        """`legs`: of all sources, by source, then in turn."""
        firsts = [number for number, leg in enumerate(legs) if number == 0 or legs[number - 1].source != leg.source]
        ends = [*firsts[1:], len(legs)]
        self._courses = [Course(first, legs[first:end], orders) for first, end in zip(firsts, ends, strict=True)]
        self._is_plain = len(legs) == len(self._courses)

    def __getitem__(self, source: int) -> Course:
        return self._courses[source]

    def __len__(self) -> int:
        return len(self._courses)

    def __iter__(self) -> Iterator[Course]:
        return iter(self._courses)

    def locate(self, sources: npt.NDArray[np.int32], ordinals: Ints) -> tuple[npt.NDArray[np.int32], Ints]:
        """(leg's number, ordinal in its order) of sequences: int32 (n,) and int64 (n,)."""
        if self._is_plain:
            return sources, ordinals
        legs, inside = np.empty(len(sources), np.int32), np.empty(len(sources), np.int64)
        for source in np.unique(sources).tolist():
            here = sources == source
            legs[here], inside[here] = self._courses[source].locate(ordinals[here])
        return legs, inside
