"""The stream of one start: seals → plan → micro-batches, step after step, and the positions between them.

It runs on the prefetch thread; `position`, `log` and `weights` may be asked from any.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import takewhile
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from headrace.agreement import Seals
from headrace.assemble import GROUP_SEQUENCES, Assembler, Cursor, Part
from headrace.batch import Batch
from headrace.courses import Courses
from headrace.ends import Ending
from headrace.errors import StateError
from headrace.mix import Revision, revision_at, weight_array
from headrace.plan import BatchSizes, Position, StepPlan, micro_batches, plan_steps, rank_slots, size_at
from headrace.telemetry.port import MaskedPlace, SourceSample

Ints = npt.NDArray[np.int64]

AHEAD_SEQUENCES = 512
"sequences of a rank whose steps are planned and opened together, where that costs little memory"

AHEAD_PLANNED = 4096
"sequences of all ranks that are planned together at most, beyond a group: a change of the mix has them planned anew"

_NO_CURSOR = Cursor(None, None, 0)


class Finished(NamedTuple):
    """What is known of a step once its last micro-batch is made."""

    plan: StepPlan
    revision: str
    "the mix revision in force"
    sources: tuple[SourceSample, ...]
    "each source as this rank saw it; none where nothing is reported"
    bytes_read: int
    padded_tokens: int
    "places of this rank's part of it that no document fills"
    masked_tokens: int
    "places of this rank's part of it that hold padding instead of a document's tokens"
    masked_at: MaskedPlace | None
    "the last document of which some were"


class Item(NamedTuple):
    """One micro-batch on its way to the training loop; `finished` on the last of a step."""

    batch: Batch
    given: Any
    "what the training loop gets: the batch, or what `collate` made of it"
    finished: Finished | None


class Stream:
    """Makes every step from `start` on, for one rank."""

    def __init__(
        self,
        *,
        start: Position,
        log: Sequence[Revision],
        seals: Seals,
        courses: Courses,
        names: Sequence[str],
        assembler: Assembler,
        batch_sizes: BatchSizes,
        micro_batch_size: int,
        dp_rank: int,
        dp_size: int,
        tokens_a_sequence: int | None,
        ending: Ending | None = None,
        collate: Callable[[Batch], Any] | None = None,
        opens_ahead: bool = False,
    ) -> None:
        """What the arguments do not say themselves.

        Args:
            tokens_a_sequence: what each delivered sequence counts in reports; None where nothing is reported.
            opens_ahead: whether to plan and open several small steps together, for data that costs little to open.
                What is delivered doesn't depend on it: a change of the mix has those that come after it planned anew.
        """
        self._base = list(log)
        self._log = list(log)
        self._seals = seals
        self._courses = courses
        self._names = names
        self._assembler = assembler
        self._batch_sizes = batch_sizes
        self._micro_batch_size = micro_batch_size
        self._dp_rank = dp_rank
        self._dp_size = dp_size
        self._tokens_a_sequence = tokens_a_sequence
        self._ending = ending
        self._collate = collate
        self._opens_ahead = opens_ahead
        self._guessed: deque[StepPlan] = deque()
        "plans of the next steps, as long as nothing is agreed that they don't know of"
        self._num_together = 1
        self._lock = threading.Lock()
        self._positions = {start.step: start}
        self._next = start
        self.on_planned: Callable[[StepPlan], None] = lambda plan: None
        "called with every plan before its first micro-batch is made"

    @property
    def log(self) -> list[Revision]:
        """Every revision so far: those of the checkpoint, then those agreed in this start."""
        with self._lock:
            return list(self._log)

    def items(self) -> Iterator[Item]:
        """Every micro-batch of this rank: for ever, or to the end of a run that has one."""
        while (plan := self._plan()) is not None:
            self.on_planned(plan)
            bytes_read, padded, masked = self._counted()
            held: Batch | None = None
            part = self._part(plan)
            for batch in self._assembler.batches(part, map(self._part, self._guessed)):
                if batch.last_of_step:
                    held = batch
                else:
                    yield Item(batch, self._given(batch), None)
            assert held is not None
            now = self._counted()
            counted = now[0] - bytes_read, now[1] - padded, now[2] - masked
            yield Item(held, self._given(held), self._finished(plan, part.slots, *counted))

    def position(self, step: int) -> Position:
        """The position before `step`.

        Raises:
            StateError: it is no longer, or not yet, known; names the steps that are.
        """
        with self._lock:
            found = self._positions.get(step)
            if found is None:
                known = sorted(self._positions)
                raise StateError(
                    f"step is {step}; this loader can give the state of steps {known[0]} to {known[-1]}: those between "
                    "the one it last handed out and the ones it has prepared"
                )
            return found

    def forget_before(self, step: int) -> None:
        """Let go of positions before `step`."""
        with self._lock:
            for old in [known for known in self._positions if known < step]:
                del self._positions[old]

    def weights(self, step: int) -> Ints:
        """int64 (K,): parts per million in force at `step`, as far as this rank knows."""
        return weight_array(self._log, step, self._names)

    def slots(self, step: int) -> slice:
        """What this rank owns of a step."""
        return rank_slots(size_at(self._batch_sizes, step), self._dp_rank, self._dp_size)

    def num_micro(self, step: int) -> int:
        """Micro-batches of a step, on every rank."""
        return micro_batches(size_at(self._batch_sizes, step), self._micro_batch_size, self._dp_size)

    def _part(self, plan: StepPlan) -> Part:
        """This rank's part of a step."""
        return Part(plan, self.slots(plan.step), self.num_micro(plan.step))

    def guess(self, position: Position) -> StepPlan | None:
        """The plan of the step at `position` as it is if the mix stays as it is; None where the run has ended."""
        plans = self._guess(position, 1)
        return plans[0] if plans else None

    def _guess(self, position: Position, num_steps: int) -> list[StepPlan]:
        """`guess`, for up to `num_steps` steps; fewer where the run ends within them."""
        steps = range(position.step, position.step + num_steps)
        newest = self._log[-1]
        is_settled = newest.from_step + newest.ramp_steps <= position.step
        now = self.weights(position.step)
        asked = [(now if is_settled else self.weights(step), size_at(self._batch_sizes, step)) for step in steps]
        plans = plan_steps(position, asked, self._courses, None if self._ending is None else self._ending.clamps)
        if self._ending is None:
            return plans
        return list(takewhile(partial(self._goes_on, self._ending), plans))

    def _goes_on(self, ending: Ending, plan: StepPlan) -> bool:
        return not ending.is_over(plan.after.counts, len(plan.sources), size_at(self._batch_sizes, plan.step))

    def _given(self, batch: Batch) -> Any:
        """What the training loop gets for a batch."""
        if self._collate is None:
            return batch
        try:
            return self._collate(batch)
        except Exception as error:
            error.add_note(f"raised by the loader's collate on micro-batch {batch.micro_step} of step {batch.step}")
            raise

    def _counted(self) -> tuple[int, int, int]:
        """Bytes read, and places padded and masked, since the start."""
        assembler = self._assembler
        return assembler.bytes_read, assembler.padded_tokens, assembler.masked.tokens

    def _finished(self, plan: StepPlan, slots: slice, bytes_read: int, padded: int, masked: int) -> Finished:
        masked_at = self._assembler.masked.last if masked else None
        revision = revision_at(self._log, plan.step).id
        return Finished(plan, revision, self._sampled(plan, slots), bytes_read, padded, masked, masked_at)

    def _sampled(self, plan: StepPlan, slots: slice) -> tuple[SourceSample, ...]:
        """What is reported of each source, made here so that the training loop need not."""
        if self._tokens_a_sequence is None:
            return ()
        cursors = self._assembler.cursors(plan, slots)
        samples = []
        for k, (name, course) in enumerate(zip(self._names, self._courses, strict=True)):
            cursor = cursors.get(k, _NO_CURSOR)
            ordinal = int(plan.after.counts[k])
            samples.append(
                SourceSample(
                    name=name,
                    ordinal=ordinal,
                    epoch=course.epoch_of(ordinal),
                    file=cursor.file,
                    row=cursor.row,
                    target_ppm=int(plan.weights[k]),
                    sequences=cursor.sequences,
                    tokens=cursor.sequences * self._tokens_a_sequence,
                )
            )
        return tuple(samples)

    def _plan(self) -> StepPlan | None:
        position = self._next
        agreed = self._seals.through(position.step)
        if len(self._base) + len(agreed) != len(self._log):
            with self._lock:
                self._log = [*self._base, *agreed]
            self._guessed.clear()
        if not self._guessed:
            self._guessed.extend(self._guess(position, self._num_ahead(position.step)))
        if not self._guessed:
            return None
        plan = self._guessed.popleft()
        with self._lock:
            self._positions[plan.after.step] = plan.after
        self._next = plan.after
        return plan

    def _num_ahead(self, step: int) -> int:
        """Steps to plan together; twice as many each time, so that the first ones of a start wait for few blocks."""
        if not self._opens_ahead:
            return 1
        own = self.num_micro(step) * self._micro_batch_size
        planned = AHEAD_PLANNED // size_at(self._batch_sizes, step)
        most = max(1, GROUP_SEQUENCES // own, min(AHEAD_SEQUENCES // own, planned))
        self._num_together = min(2 * self._num_together, most)
        return self._num_together


class Waits:
    """Measures how long the training loop waits for each micro-batch of a step.

    The first of a start is left out: it opens shards and compiles kernels, and says nothing of how the run is fed.
    """

    def __init__(self) -> None:
        self._waits: list[float] = []
        self._began = 0.0
        self._is_first = True

    def begin(self) -> None:
        """The loop asks for a micro-batch."""
        self._began = time.perf_counter()

    def end(self) -> None:
        """It has it."""
        if not self._is_first:
            self._waits.append(time.perf_counter() - self._began)
        self._is_first = False

    def take(self) -> tuple[float, ...]:
        """Seconds waited for each micro-batch since the last call."""
        waits, self._waits = tuple(self._waits), []
        return waits
