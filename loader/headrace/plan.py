"""What every global batch holds, and which part of it each rank owns.

Pure: the plan of a step follows from the counts and accumulators before it and the weights in force. Every rank makes
the whole plan, which is cheap, and reads only its own part.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from headrace.ends import assign_capped
from headrace.errors import ConfigError
from headrace.mix import assign_steps

Ints = npt.NDArray[np.int64]

BatchSizes = tuple[tuple[int, int], ...]
"a schedule of global batch sizes: (from_step, size), steps rising from 0"


class Position(NamedTuple):
    """Where the stream stands before a step; never changed in place."""

    step: int
    "steps delivered so far, and so the number of the next"
    counts: Ints
    "int64 (K,): sequences of each source in all global batches before this step"
    accumulators: Ints
    "int64 (K,): parts per million of a sequence that each source is owed; sums to 0"

    @staticmethod
    def start(num_sources: int) -> Position:
        """The position of a stream that has delivered nothing."""
        return Position(0, np.zeros(num_sources, np.int64), np.zeros(num_sources, np.int64))


class HasLanes(Protocol):
    """What deals its ordinals over lanes."""

    def lanes_of(self, ordinals: Ints) -> Ints:
        """The lane of each ordinal: int64 (n,)."""


class Courses(Protocol):
    """What deals each source's ordinals over lanes."""

    def __getitem__(self, source: int, /) -> HasLanes:
        """Source number `source`."""


class StepPlan(NamedTuple):
    """One global batch in slot order, and the position after it."""

    step: int
    sources: npt.NDArray[np.int32]
    "int32 (n,): the source of each slot; n is G but for the last step of a run that ends"
    ordinals: Ints
    "int64 (n,): the source's own number of that sequence"
    weights: Ints
    "int64 (K,): parts per million in force"
    after: Position


def plan_step(
    position: Position,
    weights: Ints,
    num_sequences: int,
    courses: Courses,
    caps: Ints | None = None,
) -> StepPlan:
    """The plan of step `position.step`.

    Args:
        position: the stream before the step.
        weights: int64 (K,), parts per million, summing to 1,000,000.
        num_sequences: the global batch size G.
        courses: where each source's ordinals lie.
        caps: int64 (K,), sequences that each source has in all, for a run that ends.

    Slots are sorted by (lane, source, ordinal), which keeps a rank on its own lanes; no token depends on the sort.
    """
    return plan_steps(position, [(weights, num_sequences)], courses, caps)[0]


def plan_steps(
    position: Position, asked: Sequence[tuple[Ints, int]], courses: Courses, caps: Ints | None = None
) -> list[StepPlan]:
    """The plans of the steps from `position.step` on, as `plan_step` makes them one by one, in less time.

    `asked` holds the weights in force and the global batch size of each.
    """
    shape = len(asked), len(position.counts)
    accumulators, taken = np.empty(shape, np.int64), np.empty(shape, np.int64)
    if caps is None:
        weights_of = np.empty(shape, np.int64)
        for number, (weights, _) in enumerate(asked):
            weights_of[number] = weights
        sizes = np.array([num_sequences for _, num_sequences in asked], np.int64)
        scratch = np.empty(int(sizes.max()), np.int32)
        assign_steps(weights_of, sizes, position.accumulators, accumulators, taken, scratch)
    else:
        _assign_capped_steps(position, asked, caps, accumulators, taken)
    counts = position.counts + np.cumsum(taken, axis=0)
    afters = [Position(position.step + 1 + n, counts[n], accumulators[n]) for n in range(len(asked))]
    sources, ordinals = _dealt(position, taken, courses)
    plans, at = [], 0
    for (weights, _), after, size in zip(asked, afters, taken.sum(axis=1).tolist(), strict=True):
        own = slice(at, at + size)
        plans.append(StepPlan(after.step - 1, sources[own], ordinals[own], weights, after))
        at += size
    return plans


def _assign_capped_steps(
    position: Position, asked: Sequence[tuple[Ints, int]], caps: Ints, accumulators: Ints, taken: Ints
) -> None:
    """`assign_steps` where sources can be used up."""
    counts, before = position.counts, position.accumulators
    for number, (weights, num_sequences) in enumerate(asked):
        after = accumulators[number]
        after[:] = before
        chosen = np.empty(num_sequences, np.int32)
        filled = assign_capped(weights, after, caps - counts, chosen)
        taken[number] = np.bincount(chosen[:filled], minlength=len(caps))
        counts, before = counts + taken[number], after


def _dealt(position: Position, taken: Ints, courses: Courses) -> tuple[npt.NDArray[np.int32], Ints]:
    """Sources and ordinals of the slots of some steps, one step after the other, each in slot order.

    `taken`: int64 (steps, K), sequences of each source in each.
    """
    sizes = taken.sum(axis=0)
    sources = np.repeat(np.arange(len(sizes), dtype=np.int32), sizes)
    ordinals, lanes = np.empty(len(sources), np.int64), np.empty(len(sources), np.int64)
    at = 0
    for k in np.flatnonzero(sizes).tolist():
        here = slice(at, at + int(sizes[k]))
        ordinals[here] = np.arange(position.counts[k], position.counts[k] + sizes[k])
        lanes[here] = courses[k].lanes_of(ordinals[here])
        at = here.stop
    if len(taken) > 1:
        steps = np.repeat(np.tile(np.arange(len(taken)), len(sizes)), taken.T.reshape(-1))
        lanes += steps * (int(lanes.max(initial=0)) + 1)
    # Sources and ordinals ascend already, so one stable sort by lane gives (step, lane, source, ordinal).
    # numpy sorts 16 bits by radix: many of them in a third of the time.
    keys = lanes.astype(np.uint16) if len(lanes) > 512 and lanes.max() < 1 << 16 else lanes
    slots = np.argsort(keys, kind="stable")
    return sources[slots], ordinals[slots]


def size_at(sizes: BatchSizes, step: int) -> int:
    """The global batch size of `step`."""
    if len(sizes) == 1:  # nearly always, and asked some times a step
        return sizes[0][1]
    return next(size for from_step, size in reversed(sizes) if from_step <= step)


def steps_within(sizes: BatchSizes, num_sequences: int) -> int:
    """Whole steps that `num_sequences` make, from step 0 on."""
    ends = [from_step for from_step, _ in sizes[1:]]
    for (first, size), end in zip(sizes, ends, strict=False):
        if num_sequences < size * (end - first):
            return first + num_sequences // size
        num_sequences -= size * (end - first)
    first, size = sizes[-1]
    return first + num_sequences // size


def batches_before(sizes: BatchSizes, step: int, micro_batch_size: int, world_size: int) -> int:
    """Micro-batches of one data rank in all steps before `step`."""
    ends = [*(from_step for from_step, _ in sizes[1:]), step]
    return sum(
        micro_batches(size, micro_batch_size, world_size) * max(0, min(end, step) - first)
        for (first, size), end in zip(sizes, ends, strict=True)
    )


def micro_batches(num_sequences: int, micro_batch_size: int, world_size: int) -> int:
    """Micro-batches that every data rank makes of a step: as few as hold the largest part, the same on all."""
    return -(-num_sequences // (micro_batch_size * world_size))


def rank_slots(num_sequences: int, rank: int, world_size: int) -> slice:
    """The slots of a global batch that data rank `rank` of `world_size` owns: `[rG/R, (r+1)G/R)`.

    Where the ranks don't divide it, parts differ by one; rows of padding then fill the last micro-batches.
    """
    return slice(rank * num_sequences // world_size, (rank + 1) * num_sequences // world_size)


def check_batch(global_batch_size: int, micro_batch_size: int, world_size: int) -> None:
    """Refuse a global batch that ranks and micro-batches can't share out evenly, naming what would fit.

    Raises:
        ConfigError: with the nearest global batches, and the world sizes that this one allows.
    """
    unit = micro_batch_size * world_size
    if global_batch_size % unit == 0:
        return
    below = global_batch_size // unit * unit
    nearest = " or ".join(str(size) for size in (below, below + unit) if size)
    micro_batches, rest = divmod(global_batch_size, micro_batch_size)
    divisors = [r for r in range(1, math.isqrt(micro_batches) + 1) if micro_batches % r == 0 and not rest]
    worlds = sorted({*divisors, *(micro_batches // r for r in divisors)})
    close = sorted(sorted(worlds, key=lambda r: abs(r - world_size))[:3])
    ranks = f"; with {global_batch_size}, world sizes {', '.join(map(str, close))} fit" if close else ""
    raise ConfigError(
        f"global_batch_size is {global_batch_size}, which {world_size} data ranks × micro_batch_size "
        f"{micro_batch_size} = {unit} does not divide; the nearest that fit are {nearest}{ranks}; "
        "or set uneven='pad' to fill up with rows of padding"
    )
