"""Reading ahead: which blocks the next steps of this rank will need, as far as is known.

After a step is planned, further steps are planned provisionally, at the weights in force, and their blocks are asked
for. When the weights change, what was asked for in vain is dropped. Nothing here is sealed, and nothing here changes
what a step holds: a wrong guess costs a read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from headrace.courses import Courses, Orders
from headrace.fetching import Fetcher, Key
from headrace.legs import Leg
from headrace.pieces import Pieces
from headrace.plan import Position, StepPlan

Ints = npt.NDArray[np.int64]

_Wanted = tuple[Key, int]
"a block, and about how many bytes it is"

MAX_STEPS: Final = 256
"""Steps that are planned ahead at most, however much room there is.

Lanes change their windows together, so the reading of many steps falls due at once: looking far ahead spreads it.
"""

_PLANS_A_STEP: Final = 4
"steps that are planned ahead at most for each that is planned for good, so that the first need not wait for all"

_TABLE_BYTES: Final = 24
"what a block's tables take for each document"


class ReadAhead:
    """Asks a `Fetcher` for the blocks of the steps to come. Belongs to the thread that plans them."""

    def __init__(
        self,
        *,
        legs: Sequence[Leg],
        is_ahead: Sequence[bool],
        pieces: Pieces,
        fetcher: Fetcher,
        plan: Callable[[Position], StepPlan | None],
        slots: Callable[[int], slice],
    ) -> None:
        """`is_ahead` says of which legs blocks are fetched, `slots` which slots of a step this rank owns."""
        self._legs = legs
        self._is_ahead = is_ahead
        self._pieces = pieces
        self._fetcher = fetcher
        self._plan = plan
        self._slots = slots
        # Orders of its own: they remember the window they were last asked about, and these run ahead of the others.
        self._orders = Orders(legs)
        self._courses = Courses(legs, self._orders)
        self._guessed: dict[int, Ints] = {}
        "by step, the counts after it as planned provisionally"
        self._frontier: Position | None = None
        self._left: Iterator[_Wanted] = iter(())
        self._held_back: _Wanted | None = None

    def planned(self, plan: StepPlan) -> None:
        """Step `plan.step` was planned for good: ask for its blocks, and for those of the steps after it."""
        self._fetcher.drop_before(plan.step)
        guessed = self._guessed.pop(plan.step, None)
        if guessed is None or not np.array_equal(guessed, plan.after.counts):
            self._begin(plan)
        self._ask()

    def _begin(self, plan: StepPlan) -> None:
        """Start guessing at a plan that is certain."""
        self._guessed.clear()
        self._fetcher.expire(plan.step)
        self._frontier = plan.after
        self._left = self._blocks(plan)
        self._held_back = None

    def _ask(self) -> None:
        """Ask for block after block, step after step, until there is no room."""
        for _ in range(_PLANS_A_STEP + 1):
            if self._frontier is None:
                return
            while (wanted := self._next()) is not None:
                key, nbytes = wanted
                if not self._fetcher.want(key, nbytes, self._frontier.step - 1):
                    self._held_back = wanted
                    return
            plan = self._plan(self._frontier) if len(self._guessed) < MAX_STEPS else None
            if plan is None:
                return
            self._guessed[plan.step] = plan.after.counts
            self._frontier = plan.after
            self._left = self._blocks(plan)

    def _next(self) -> _Wanted | None:
        """What is to be asked for next of the step before the frontier; None once that is done."""
        held, self._held_back = self._held_back, None
        return next(self._left, None) if held is None else held

    def _blocks(self, plan: StepPlan) -> Iterator[_Wanted]:
        """((leg, block), about how many bytes) of this rank's part of a step, without those that are open."""
        mine = self._slots(plan.step)
        legs, ordinals = self._courses.locate(plan.sources[mine], plan.ordinals[mine])
        for leg in np.unique(legs).tolist():
            if not self._is_ahead[leg]:
                continue
            manifest = self._legs[leg].manifest
            spans = self._orders[leg].spans_of(ordinals[legs == leg])
            units = dict.fromkeys(zip(spans.epoch.tolist(), spans.block.tolist(), strict=True))
            for epoch, unit in units:
                if self._pieces.holds(leg, epoch, unit):
                    continue
                for block in self._pieces.blocks_of(leg, unit):
                    tokens = int(manifest.block_tokens[block]) * manifest.token_dtype.itemsize
                    yield (leg, block), tokens + _TABLE_BYTES * int(manifest.block_documents[block])
