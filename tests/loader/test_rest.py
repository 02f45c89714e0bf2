"""What is left of an epoch: found in closed form, cut anew, and delivered exactly once, however often that happens."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from headrace.best_fit import find_windows
from headrace.order import SourceOrder, Spans
from headrace.recut import cut_rest
from headrace.rest import ChosenOrder, Key, Order, Ranges, RestOrder, ranges_left
from hypothesis import given, settings
from hypothesis import strategies as st

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Shape:
    """A source, and where an epoch of it is left."""

    blocks: Ints
    seq_len: int
    lanes: int
    shuffle: bool
    epoch: int
    part: float

    def order(self) -> SourceOrder:
        return SourceOrder(
            seed=1, name="web", seq_len=self.seq_len, lanes=self.lanes, block_tokens=self.blocks, shuffle=self.shuffle
        )

    def ordinal(self, order: SourceOrder) -> int:
        """The first ordinal of the epoch that was not delivered."""
        first = -(-self.epoch * order.total_tokens // self.seq_len)
        return first + int(self.part * (order.epoch_end(first) - first))


@st.composite
def shapes(draw: st.DrawFn) -> Shape:
    """Both small sources, which are one permutation, and those with lanes and windows."""
    large = draw(st.booleans())
    rng = np.random.default_rng(draw(st.integers(0, 1 << 30)))
    blocks = rng.integers(1, 900 if large else 60, draw(st.integers(40, 120) if large else st.integers(1, 40)))
    return Shape(
        blocks.astype(np.int64),
        draw(st.sampled_from((2, 4, 7) if large else (2, 8, 33))),
        draw(st.sampled_from((4, 16, 64))),
        draw(st.sampled_from((True, True, True, False))),
        draw(st.integers(0, 2)),
        draw(st.floats(0, 0.999)),
    )


def places(spans: Spans, blocks: Ints) -> Ints:
    """How often each token of the source is in some spans."""
    starts = np.concatenate(([0], np.cumsum(blocks)))
    times = np.zeros(starts[-1], np.int64)
    for block, offset, count in zip(spans.block, spans.offset, spans.count, strict=True):
        times[starts[block] + offset : starts[block] + offset + count] += 1
    return times


def in_epoch(order: SourceOrder, first: int, end: int, epoch: int) -> Ints:
    """How often each place of the epoch's stream is in the sequences of ordinals `[first, end)`."""
    times = np.zeros(order.total_tokens, np.int64)
    for begin in order.begins_of(np.arange(first, end)) - epoch * order.total_tokens:
        times[begin : begin + order.seq_len] += 1
    return times


def of_ranges(ranges: Ranges, total: int) -> Ints:
    times = np.zeros(total, np.int64)
    for begin, size in zip(ranges.begin, ranges.size, strict=True):
        times[begin : begin + size] += 1
    return times


def epoch_of(order: Order, ordinal: int) -> int:
    return int(order.epochs_of(np.array([ordinal]))[0])


@settings(max_examples=60, deadline=None)
@given(shapes())
def test_what_is_left_is_what_was_not_delivered(shape: Shape) -> None:
    order = shape.order()
    at = shape.ordinal(order)
    epoch = epoch_of(order, at)
    left = ranges_left(order, at)
    assert of_ranges(left, order.total_tokens).tolist() == in_epoch(order, at, order.epoch_end(at), epoch).tolist()
    assert (left.begin[1:] > left.begin[:-1] + left.size[:-1]).all(), "neighbours are one range"


@settings(max_examples=60, deadline=None)
@given(shapes(), st.sampled_from((2, 5, 16, 64)), st.floats(0, 0.999), st.sampled_from((3, 8)))
def test_the_rest_is_delivered_once_at_other_lengths(shape: Shape, second: int, part: float, third: int) -> None:
    """At a second length, and what is left of that at a third."""
    at = shape.ordinal(shape.order())
    left = ranges_left(shape.order(), at)
    epoch = epoch_of(shape.order(), at)
    expected = places(shape.order().cut(left.begin, left.size, epoch), shape.blocks)
    rest = cut_rest(shape.order, at, None, shape.blocks, second, Key(seed=1, name="web", label="order 1"))
    order = rest.make_order()
    spans = order.spans_of(np.arange(rest.num_sequences))
    assert places(spans, shape.blocks).tolist() == expected.tolist()
    assert (rest.dropped_tokens, order.epoch_end(0)) == (0, rest.num_sequences)
    sizes = np.zeros(rest.num_sequences, np.int64)
    np.add.at(sizes, spans.slot, spans.count)
    assert (sizes == second).sum() >= rest.num_sequences - 1, "only the last sequence may be short"
    begun = int(part * rest.num_sequences)
    again = cut_rest(rest.make_order, begun, None, shape.blocks, third, Key(seed=1, name="web", label="order 2"))
    twice = again.make_order()
    assert isinstance(twice, RestOrder)
    both = places(order.spans_of(np.arange(begun)), shape.blocks) if begun else np.zeros_like(expected)
    both = both + places(twice.spans_of(np.arange(again.num_sequences)), shape.blocks)
    assert both.tolist() == expected.tolist()


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 1 << 30), st.floats(0, 0.999), st.floats(0, 0.999))
def test_best_fit_windows_that_were_not_begun_are_kept_whole(seed: int, part: float, later: float) -> None:
    rng = np.random.default_rng(seed)
    documents = rng.integers(900, 1100, 40).astype(np.int64)
    tokens = documents * 9
    windows = find_windows(documents, tokens, 16)
    units = windows.num_sequences * 16

    def make() -> SourceOrder:
        return SourceOrder(seed=2, name="web", seq_len=16, lanes=8, block_tokens=units)

    total = int(windows.num_sequences.sum())
    at = int(part * total)
    begun = set(make().spans_of(np.arange(at)).block.tolist()) if at else set()
    rest = cut_rest(make, at, windows, tokens, 40, Key(seed=2, name="web", label="order 1"))
    untouched = [unit for unit in range(len(units)) if unit not in begun]
    assert rest.windows is not None
    assert rest.num_sequences == int(rest.windows.num_sequences[untouched].sum())
    assert rest.dropped_tokens == 16 * (total - at - int(windows.num_sequences[untouched].sum()))
    if not untouched:
        return
    order = rest.make_order()
    assert isinstance(order, ChosenOrder)
    spans = order.spans_of(np.arange(rest.num_sequences))
    filled = np.zeros(len(units), np.int64)
    np.add.at(filled, spans.block, spans.count)
    assert sorted(np.flatnonzero(filled).tolist()) == untouched
    assert (filled[untouched] == rest.windows.num_sequences[untouched] * 40).all()
    cut = int(later * rest.num_sequences)
    again = cut_rest(rest.make_order, cut, rest.windows, tokens, 16, Key(seed=2, name="web", label="order 2"))
    begun |= set(order.spans_of(np.arange(cut)).block.tolist()) if cut else set()
    kept = [unit for unit in range(len(units)) if unit not in begun]
    assert again.num_sequences == int(windows.num_sequences[kept].sum())
