"""What is left of an epoch that was begun under another `seq_len`: found in closed form, and cut anew.

A run that goes on with longer sequences has read some of an epoch already: whole windows of each lane, and scattered
sequences of the window each lane is in. What is left is a list of token ranges of that epoch's stream: one for the
windows to come of each lane, and one for each run of sequences left in the current ones. Laid end to end they are a
stream of their own, which is cut at the new length and dealt over lanes like any other. So nothing is repeated and
nothing is dropped; where two ranges meet, a sequence holds the end of one document and the middle of another, as at any
cut. Pure: the ranges follow from the order and the ordinal at which it was left.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Protocol, TypedDict, final

import numpy as np
import numpy.typing as npt

from headrace.order import SourceOrder, Spans, bit_reversed

Ints = npt.NDArray[np.int64]


class Order(Protocol):
    """Ordinals → places: `SourceOrder`, or what is left of one."""

    seq_len: int
    "tokens in a sequence"

    @property
    def span_tokens(self) -> int:
        """Tokens that the window of one lane spans."""

    @property
    def num_lanes(self) -> int:
        """Lanes that it is read along."""

    def lanes_of(self, ordinals: Ints) -> Ints:
        """See `SourceOrder.lanes_of`."""

    def epochs_of(self, ordinals: Ints) -> Ints:
        """See `SourceOrder.epochs_of`."""

    def spans_of(self, ordinals: Ints) -> Spans:
        """See `SourceOrder.spans_of`."""

    def epoch_end(self, ordinal: int) -> int:
        """See `SourceOrder.epoch_end`."""

    def document_key(self, epoch: int, block: int) -> int | None:
        """See `SourceOrder.document_key`."""


class OrderTable(Protocol):
    """An order for each of some numbers."""

    def __getitem__(self, number: int, /) -> Order:
        """Order number `number`."""


@dataclass(frozen=True, slots=True)
class Ranges:
    """Stretches of one epoch's stream, ascending and apart: int64 (n,) twice."""

    begin: Ints
    "first token, counted from the beginning of the epoch"
    size: Ints
    "tokens"

    @property
    def num_tokens(self) -> int:
        """Tokens in all of them."""
        return int(self.size.sum())


def ranges_left(order: SourceOrder, ordinal: int) -> Ranges:
    """What is left of the epoch of `ordinal`'s sequence once all ordinals before it were delivered.

    Holds as many ranges as sequences in one window of each lane, at most.
    """
    seq_len, total = order.seq_len, order.total_tokens
    epoch = ordinal * seq_len // total
    first, end = -(-epoch * total // seq_len), order.epoch_end(ordinal)
    if not order.shuffle:
        begin, size = np.array([ordinal * seq_len], np.int64), np.array([(end - ordinal) * seq_len], np.int64)
    elif order.is_small:
        begin = np.sort(order.begins_of(np.arange(ordinal, end, dtype=np.int64)))
        size = np.full(len(begin), seq_len)
    else:
        rows, begin, size = _whole_windows(order, ordinal - first, end - first)
        scattered = order.begins_of(first + rows) // seq_len - first
        begin = (first + np.concatenate((begin, scattered))) * seq_len
        size = np.concatenate((size, np.ones(len(scattered), np.int64))) * seq_len
    return _joined(begin - epoch * total, size, total)


def _whole_windows(order: SourceOrder, dealt: int, size: int) -> tuple[Ints, Ints, Ints]:
    """Of an epoch of `size` sequences of which `dealt` were dealt out: the rest, lane by lane.

    Returns the numbers, in dealing order, of those left in the lanes' current windows; then (first sequence, number of
    sequences) of each lane's windows to come.
    """
    lanes, bits = order.num_lanes, order.lane_bits
    turn = np.array([bit_reversed(lane, bits) for lane in range(lanes)], np.int64)
    lane_size = (size >> bits) + (turn < size % lanes)
    lane_begin = np.cumsum(lane_size) - lane_size
    done = (dealt >> bits) + (turn < dealt % lanes)
    next_window = np.minimum(-(-done // order.window) * order.window, lane_size)
    in_window = next_window - done
    lane = np.repeat(np.arange(lanes), in_window)
    row = np.arange(len(lane)) - np.repeat(np.cumsum(in_window) - in_window, in_window) + done[lane]
    return (row << bits) + turn[lane], lane_begin + next_window, lane_size - next_window


def _joined(begin: Ints, size: Ints, total: int) -> Ranges:
    """The ranges in order, neighbours as one, cut at the end of the epoch."""
    order = np.argsort(begin, kind="stable")
    begin, size = begin[order], size[order]
    some = size > 0
    begin, size = begin[some], np.minimum(size[some], total - begin[some])
    if len(begin) == 0:
        return Ranges(begin, size)
    starts = np.flatnonzero(np.concatenate(([True], begin[1:] > begin[:-1] + size[:-1])))
    return Ranges(begin[starts], np.add.reduceat(size, starts))


class Key(TypedDict):
    """What the permutations of an order are keyed by."""

    seed: int
    name: str
    label: str


def _cutter(base: SourceOrder, sizes: Ints, key: Key, seq_len: int, mean_block_tokens: float) -> SourceOrder:
    """An order over stretches of `sizes` tokens that stay in their order, for one epoch."""
    return SourceOrder(
        **key,
        seq_len=seq_len,
        lanes=base.lanes,
        block_tokens=sizes,
        shuffle=base.shuffle,
        end=int(sizes.sum()),
        mean_block_tokens=mean_block_tokens,
        permute_blocks=False,
    )


class _OnePass(ABC):
    """Part of an epoch of `base` as one epoch of sequences of another length, dealt by `cutter`; the last may be short.

    Its blocks, epochs and document keys are those of `base`.
    """

    def __init__(self, base: SourceOrder, epoch: int, cutter: SourceOrder) -> None:
        self.base = base
        self.epoch = epoch
        self.cutter = cutter
        self.seq_len = cutter.seq_len

    @property
    def span_tokens(self) -> int:
        """See `Order.span_tokens`."""
        return self.cutter.span_tokens

    @property
    def num_lanes(self) -> int:
        """See `Order.num_lanes`."""
        return self.cutter.num_lanes

    def lanes_of(self, ordinals: Ints) -> Ints:
        """See `Order.lanes_of`."""
        return self.cutter.lanes_of(ordinals)

    def epochs_of(self, ordinals: Ints) -> Ints:
        """The one epoch that it is the rest of: int64 (n,)."""
        return np.full(len(ordinals), self.epoch, np.int64)

    def epoch_end(self, ordinal: int) -> int:
        """Sequences that it has."""
        return self.cutter.epoch_end(0)

    def document_key(self, epoch: int, block: int) -> int | None:
        """See `Order.document_key`."""
        return self.base.document_key(epoch, block)

    @abstractmethod
    def spans_of(self, ordinals: Ints) -> Spans:
        """See `Order.spans_of`."""


@final
class RestOrder(_OnePass):
    """The ranges left of an epoch, end to end."""

    def __init__(self, base: SourceOrder, epoch: int, ranges: Ranges, *, key: Key, seq_len: int) -> None:
        super().__init__(base, epoch, _cutter(base, ranges.size, key, seq_len, base.mean_block_tokens))
        self.ranges = ranges

    def spans_of(self, ordinals: Ints) -> Spans:
        """See `Order.spans_of`."""
        cut = self.cutter.spans_of(ordinals)
        spans = self.base.cut(self.ranges.begin[cut.block] + cut.offset, cut.count, self.epoch)
        return Spans(
            cut.slot[spans.slot],
            cut.column[spans.slot] + spans.column,
            spans.epoch,
            spans.block,
            spans.offset,
            spans.count,
        )

    def left(self, ordinal: int) -> Ranges:
        """What is left of `base`'s epoch once the sequences before `ordinal` were delivered too."""
        left = ranges_left(self.cutter, ordinal)
        cut = self.cutter.cut(left.begin, left.size, 0)
        return _joined(self.ranges.begin[cut.block] + cut.offset, cut.count, self.base.total_tokens)


@final
class ChosenOrder(_OnePass):
    """Some units of an epoch, each whole: best-fit windows that were not begun."""

    def __init__(self, base: SourceOrder, epoch: int, units: Ints, sizes: Ints, *, key: Key, seq_len: int) -> None:
        """`units`: int64 (n,), numbers among the base's, in its epoch's order; `sizes`: int64 (n,), tokens of each."""
        super().__init__(base, epoch, _cutter(base, sizes, key, seq_len, float(sizes.mean())))
        self.units = units

    def spans_of(self, ordinals: Ints) -> Spans:
        """See `Order.spans_of`."""
        cut = self.cutter.spans_of(ordinals)
        epochs = np.full(len(cut.slot), self.epoch, np.int64)
        return Spans(cut.slot, cut.column, epochs, self.units[cut.block], cut.offset, cut.count)

    def units_left(self, ordinal: int) -> tuple[Ints, int]:
        """See `units_left`."""
        places, num_tokens = units_left(self.cutter, ordinal)
        return self.units[places], num_tokens


def units_left(order: SourceOrder, ordinal: int) -> tuple[Ints, int]:
    """The units of an epoch of which nothing was delivered before `ordinal`, in the epoch's order: int64 (n,).

    And the tokens that are left of the epoch in all, those of units that were begun included.
    """
    left = ranges_left(order, ordinal)
    if len(left.begin) == 0:
        return left.begin, 0
    units, starts = order.blocks_of(ordinal * order.seq_len // order.total_tokens)
    inside = np.maximum(np.searchsorted(left.begin, starts[:-1], side="right") - 1, 0)
    whole = (starts[:-1] >= left.begin[inside]) & (starts[1:] <= left.begin[inside] + left.size[inside])
    return units[whole], left.num_tokens
