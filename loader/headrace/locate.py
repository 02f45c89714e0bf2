"""The order of a source backwards: a place in its endless token stream → the ordinals, and so the steps, that hold it.

Each stage of `order` is undone in closed form: the permutation inside a window, the dealing over lanes, the numbering
within the epoch. Which step an ordinal is in follows from the counts alone, which only grow, by halving.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np
import numpy.typing as npt

from headrace.order import SourceOrder, bit_reversed
from headrace.permute import TABLE_LIMIT, feistel_inverse, subkey, table_index
from headrace.rest import ChosenOrder, Order, RestOrder

Ints = npt.NDArray[np.int64]

MAX_SEQUENCES = 1 << 42
"sequences that any run is taken to deliver at most; a million times as many are still whole numbers of 64 bits"


def ordinals_with(order: Order, epoch: int, unit: int, offset: int, count: int) -> list[int]:
    """The ordinals of `order` that hold any of the tokens `[offset, offset + count)` of a unit in `epoch`, ascending.

    A unit is what the order permutes: a block, or a best-fit window. Those of an epoch's rest that were delivered
    before it began are not among them.
    """
    if isinstance(order, SourceOrder):
        begin = epoch * order.total_tokens + _begin_of(order, epoch, unit) + offset
        return _ordinals(order, [(begin, count)])
    assert isinstance(order, RestOrder | ChosenOrder)
    if epoch != order.epoch:
        return []
    cutter = order.cutter
    if isinstance(order, ChosenOrder):
        places = np.flatnonzero(order.units == unit).tolist()
        return _ordinals(cutter, [(_begin_of(cutter, 0, place) + offset, count) for place in places])
    begin = _begin_of(order.base, epoch, unit) + offset
    ranges = order.ranges
    first = np.maximum(ranges.begin, begin)
    size = np.minimum(ranges.begin + ranges.size, begin + count) - first
    starts = np.cumsum(ranges.size) - ranges.size
    some = np.flatnonzero(size > 0)
    inside = starts[some] + first[some] - ranges.begin[some]
    return _ordinals(cutter, zip(inside.tolist(), size[some].tolist(), strict=True))


def _begin_of(order: SourceOrder, epoch: int, unit: int) -> int:
    """Where a unit begins in the stream of an epoch."""
    units, starts = order.blocks_of(epoch)
    return int(starts[np.flatnonzero(units == unit)[0]])


def _ordinals(order: SourceOrder, stretches: Iterable[tuple[int, int]]) -> list[int]:
    """The ordinals that hold any of some (first token, tokens) of the endless stream."""
    sequences = {sequence for first, count in stretches for sequence in sequences_with(order, first, count)}
    return sorted(ordinal_of(order, sequence) for sequence in sequences)


def sequences_with(order: SourceOrder, first: int, count: int) -> range:
    """The sequences of the endless stream of `order` that hold any of its tokens `[first, first + count)`."""
    return range(first // order.seq_len, (first + count - 1) // order.seq_len + 1)


def ordinal_of(order: SourceOrder, sequence: int) -> int:
    """The ordinal at which sequence `sequence` of the endless stream is delivered: the inverse of the order.

    Constant time and memory for a large source; for one of windows below 2^16 sequences, that of one window's table.
    """
    if not order.shuffle:
        return sequence
    epoch = sequence * order.seq_len // order.total_tokens
    first = -(-epoch * order.total_tokens // order.seq_len)
    size = -(-(epoch + 1) * order.total_tokens // order.seq_len) - first
    inside = sequence - first
    if order.is_small:
        return first + table_index(int(subkey(np.uint64(order.key), epoch, 0)), size, inside)
    begins = _lane_begins(order.lane_bits, size)
    lane = int(np.searchsorted(begins, inside, side="right")) - 1
    place = inside - int(begins[lane])
    number = place // order.window
    width = min(order.window, int(begins[lane + 1] - begins[lane]) - number * order.window)
    of_epoch = np.uint64(subkey(np.uint64(order.key), epoch, 1))
    key = int(subkey(of_epoch, lane, number))
    row = number * order.window + _unpermuted(key, width, place - number * order.window, order.window)
    return first + (row << order.lane_bits) + int(bit_reversed(lane, order.lane_bits))


def _unpermuted(key: int, width: int, place: int, window: int) -> int:
    """Where in a window of `width` sequences `place` comes from; the construction goes by the full window's size."""
    if window < TABLE_LIMIT:
        return table_index(key, width, place)
    return int(feistel_inverse(np.uint64(key), width, place)) if width > 1 else 0


def _lane_begins(lane_bits: int, size: int) -> Ints:
    """Where each lane of an epoch of `size` sequences begins, and its end: int64 (lanes + 1,)."""
    num_lanes = 1 << lane_bits
    reverse = np.array([bit_reversed(lane, lane_bits) for lane in range(num_lanes)])
    begins = np.zeros(num_lanes + 1, np.int64)
    np.cumsum((size >> lane_bits) + (reverse < size % num_lanes), out=begins[1:])
    return begins


def step_of(count_before: Callable[[int], int], ordinal: int, first_step: int, last_step: int) -> int | None:
    """The step from `first_step` to `last_step` whose global batch holds ordinal `ordinal` of a source.

    `count_before(s)` is the source's sequences in all steps before `s`; it never falls. None where the ordinal is in an
    earlier step, or in none till then: the source is paused or used up. Looks at a number of steps that grows with the
    logarithm of the distance.
    """
    if first_step > last_step or count_before(first_step) > ordinal:
        return None
    low, high = first_step, first_step
    while count_before(high + 1) <= ordinal:
        if high == last_step:
            return None
        low, high = high + 1, min(last_step, 2 * high - first_step + 1)
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if count_before(middle + 1) > ordinal else (middle + 1, high)
    return low
