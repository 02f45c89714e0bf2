"""The order of a source: a bijection of every epoch, equal to its definition, and as good as a full shuffle."""

from __future__ import annotations

import hashlib

import numpy as np
import numpy.typing as npt
import pytest
from headrace.order import SMALL_SOURCE, SourceOrder, Spans
from headrace.permute import TABLE_LIMIT, feistel, permutation, subkey
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.loader import strategies
from tests.loader.strategies import Shape

Ints = npt.NDArray[np.int64]


def make(shape: Shape, seed: int = 11, name: str = "web") -> SourceOrder:
    blocks = np.array(shape.block_tokens, np.int64)
    return SourceOrder(seed=seed, name=name, seq_len=shape.seq_len, lanes=shape.lanes, block_tokens=blocks)


def first_of(epoch: int, shape: Shape) -> int:
    """The ordinal of the first sequence that starts in `epoch`."""
    return -(-epoch * shape.total_tokens // shape.seq_len)


def reversed_bits(value: int, bits: int) -> int:
    return int(f"{value:0{bits}b}"[::-1], 2) if bits else 0


def dealt(order: SourceOrder, epoch: int, size: int) -> list[int]:
    """The sequences of an epoch in the order they are visited, by walking the lanes as DESIGN §3 tells it."""
    key = np.uint64(order.key)
    if order.is_small:
        whole: list[int] = permutation(int(subkey(key, epoch, 0)), size).tolist()
        return whole
    bits = order.num_lanes.bit_length() - 1
    visits = [reversed_bits(turn % order.num_lanes, bits) for turn in range(size)]
    ends = np.cumsum(np.bincount(visits, minlength=order.num_lanes)).tolist()
    of_epoch = np.uint64(subkey(key, epoch, 1))
    lanes: list[list[int]] = []
    for lane in range(order.num_lanes):
        mine = list(range(ends[lane - 1] if lane else 0, ends[lane]))
        lanes.append([])
        for number in range(-(-len(mine) // order.window)):
            window = mine[number * order.window : (number + 1) * order.window]
            window_key = np.uint64(subkey(of_epoch, lane, number))
            if order.window < TABLE_LIMIT:
                inside = permutation(int(window_key), len(window)).tolist()
            else:
                inside = [int(feistel(window_key, len(window), i)) for i in range(len(window))]
            lanes[lane] += [window[i] for i in inside]
    taken = [iter(lane) for lane in lanes]
    return [next(taken[lane]) for lane in visits]


def count_tokens(spans: Spans, shape: Shape, num_epochs: int) -> Ints:
    """How often each (epoch, block, offset) is in `spans`: int64 (num_epochs, T)."""
    starts = np.concatenate(([0], np.cumsum(shape.block_tokens)))
    counts = np.zeros((num_epochs + 1) * shape.total_tokens + 1, np.int64)
    begin = spans.epoch * shape.total_tokens + starts[spans.block] + spans.offset
    assert (spans.offset >= 0).all()
    assert (spans.count > 0).all()
    assert (spans.offset + spans.count <= np.array(shape.block_tokens)[spans.block]).all()
    inside = spans.epoch < num_epochs
    np.add.at(counts, begin[inside], 1)
    np.add.at(counts, (begin + spans.count)[inside], -1)
    return np.cumsum(counts)[: num_epochs * shape.total_tokens].reshape(num_epochs, -1)


def check_exactly_once(shape: Shape, num_epochs: int = 3) -> SourceOrder:
    """Every token of every epoch exactly once, and every sequence whole."""
    order = make(shape)
    number = first_of(num_epochs, shape)
    epochs, sequences = order.sequences_of(np.arange(number))
    assert (np.diff(epochs) >= 0).all()
    for epoch in range(num_epochs):
        size = first_of(epoch + 1, shape) - first_of(epoch, shape)
        assert np.array_equal(np.sort(sequences[epochs == epoch]), np.arange(size)), epoch
    spans = order.spans_of(np.arange(number))
    assert (count_tokens(spans, shape, num_epochs) == 1).all()
    assert (np.bincount(spans.slot, weights=spans.count, minlength=number) == shape.seq_len).all()
    for slot in range(0, number, max(1, number // 50)):
        mine = spans.slot == slot
        columns = np.concatenate(([0], np.cumsum(spans.count[mine])))
        assert np.array_equal(spans.column[mine], columns[:-1])
    return order


@settings(deadline=None, max_examples=150)
@given(strategies.small_shapes())
def test_small_sources_deliver_every_token_exactly_once_over_three_epochs(shape: Shape) -> None:
    """M01, H01: also sources shorter than a sequence and than the lanes, which wrap several times in one sequence."""
    assert check_exactly_once(shape).is_small


@settings(deadline=None, max_examples=40)
@given(strategies.large_shapes())
def test_large_sources_deliver_every_token_exactly_once_over_three_epochs(shape: Shape) -> None:
    assert not check_exactly_once(shape).is_small


@settings(deadline=None, max_examples=100)
@given(strategies.small_shapes(), st.integers(0, 40))
def test_small_sources_follow_the_definition(shape: Shape, epoch: int) -> None:
    order = make(shape)
    first, end = first_of(epoch, shape), first_of(epoch + 1, shape)
    epochs, sequences = order.sequences_of(np.arange(first, end))
    assert (epochs == epoch).all()
    assert sequences.tolist() == dealt(order, epoch, end - first)


@settings(deadline=None, max_examples=30)
@given(strategies.large_shapes(), st.integers(0, 5))
def test_large_sources_follow_the_definition(shape: Shape, epoch: int) -> None:
    order = make(shape)
    first, end = first_of(epoch, shape), first_of(epoch + 1, shape)
    epochs, sequences = order.sequences_of(np.arange(first, end))
    assert (epochs == epoch).all()
    assert sequences.tolist() == dealt(order, epoch, end - first)


@pytest.mark.parametrize("rest", [0, 1, 2, 5, 7, 8])
def test_the_last_partial_round_of_lanes(rest: int) -> None:
    """Epochs that end anywhere in a round of 8 lanes, with and without a straddling sequence."""
    for extra in (0, 1):
        shape = Shape([2] * (3 * (8 * 600 + rest)) + [2 + extra], 6, 8)
        order = check_exactly_once(shape)
        assert order.num_lanes == 8
        for epoch in range(3):
            first, end = first_of(epoch, shape), first_of(epoch + 1, shape)
            assert order.sequences_of(np.arange(first, end))[1].tolist() == dealt(order, epoch, end - first)


@pytest.mark.parametrize("num_sequences", [SMALL_SOURCE - 1, SMALL_SOURCE, SMALL_SOURCE + 1, SMALL_SOURCE + 2])
def test_the_size_where_the_construction_changes(num_sequences: int) -> None:
    for extra in (-1, 0, 1):
        shape = Shape([100] * (num_sequences * 4 // 100) + [num_sequences * 4 % 100 + 4 + extra], 4, 64)
        assert check_exactly_once(shape).is_small == (-(-shape.total_tokens // 4) <= SMALL_SOURCE)


def test_windows_beyond_the_table_limit() -> None:
    """Few huge blocks: windows of 2^17 sequences go through the Feistel network, the narrow last one too."""
    shape = Shape([123_457, 130_001, 99_999, 131_071, 100_003], 4, 512)
    order = make(shape)
    assert order.window == 1 << 17
    assert order.num_lanes == 1
    check_exactly_once(shape)
    first, end = first_of(1, shape), first_of(2, shape)
    assert order.sequences_of(np.arange(first, end))[1].tolist() == dealt(order, 1, end - first)


def test_many_lanes_with_windows_beyond_the_table_limit() -> None:
    shape = Shape([70_000] * 41 + [12_345], 4, 512)
    order = make(shape)
    assert order.window >= TABLE_LIMIT
    assert order.num_lanes > 1
    check_exactly_once(shape, 2)


def test_a_source_of_a_thousand_lanes() -> None:
    shape = Shape([16] * 70_001, 2, 1024)
    order = check_exactly_once(shape, 2)
    assert order.num_lanes == 1024
    assert order.window == 32


@pytest.mark.parametrize("total", [1, 2, 7, 31, 63])
def test_a_source_shorter_than_a_sequence_wraps(total: int) -> None:
    """S03: a sequence of 64 tokens holds whole epochs of a source of `total` tokens, each in its own order."""
    shape = Shape([1] * total, 64, 512)
    check_exactly_once(shape, 200)
    spans = make(shape).spans_of(np.array([5]))
    for epoch in np.unique(spans.epoch)[1:-1]:
        assert sorted(spans.block[spans.epoch == epoch].tolist()) == list(range(total))


@settings(deadline=None, max_examples=60)
@given(st.one_of(strategies.small_shapes(), strategies.large_shapes()), st.data())
def test_answers_depend_on_nothing_asked_before(shape: Shape, data: st.DataObject) -> None:
    """Ordinals in any order, any subset, repeats, jumps back over epochs: always what a fresh order says."""
    last = first_of(4, shape)
    asked = order = make(shape)
    for _ in range(data.draw(st.integers(1, 4))):
        picked = data.draw(st.lists(st.integers(0, last), min_size=1, max_size=25))
        ordinals = np.array(picked, np.int64)
        epochs, sequences = order.sequences_of(ordinals)
        lanes, spans = asked.lanes_of(ordinals), asked.spans_of(ordinals)
        for i, ordinal in enumerate(picked):
            fresh, one = make(shape), np.array([ordinal], np.int64)
            alone = fresh.sequences_of(one)
            assert (int(epochs[i]), int(sequences[i])) == (int(alone[0][0]), int(alone[1][0]))
            assert lanes[i] == fresh.lanes_of(one)[0]
            expected, mine = fresh.spans_of(one), spans.slot == i
            for name in ("column", "epoch", "block", "offset", "count"):
                assert np.array_equal(getattr(spans, name)[mine], getattr(expected, name)), name


@settings(deadline=None, max_examples=60)
@given(st.one_of(strategies.small_shapes(), strategies.large_shapes()))
def test_lanes_are_contiguous_ranges_scaled_to_the_same_numbers(shape: Shape) -> None:
    order = make(shape)
    number = first_of(1, shape)
    lanes = order.lanes_of(np.arange(number))
    assert lanes.min() >= 0
    assert lanes.max() < shape.lanes
    by_place = lanes[np.argsort(order.sequences_of(np.arange(number))[1])]
    assert (np.diff(by_place) >= 0).all()


def test_epochs_differ_and_a_seed_repeats_them() -> None:
    """H01: three epochs are three orders, of blocks, documents and sequences; the same seed gives the same three."""
    for shape in (Shape([7] * 100, 7, 512), Shape([64] * 1_000, 8, 64)):
        runs = []
        for seed in (1, 1, 2):
            order = make(shape, seed)
            sequences = [order.sequences_of(np.arange(first_of(e, shape), first_of(e + 1, shape)))[1] for e in range(3)]
            blocks = [order.blocks_of(epoch)[0] for epoch in range(3)]
            runs.append([array.tolist() for array in (*sequences, *blocks)])
            for group in (sequences, blocks):
                assert len({tuple(array.tolist()) for array in group}) == 3
        assert runs[0] == runs[1]
        assert all(ours != theirs for ours, theirs in zip(runs[0], runs[2], strict=True))
        assert make(shape, 1, "code").sequences_of(np.arange(50))[1].tolist() != runs[0][0][:50]


def test_document_keys_differ_by_epoch_and_block() -> None:
    order = make(Shape([7] * 100, 7, 512))
    keys = {order.document_key(epoch, block) for epoch in range(50) for block in range(100)}
    assert len(keys) == 5_000


def test_far_epochs_cost_no_more_and_fit_in_64_bits() -> None:
    """A source of 10^14 tokens, and epoch 1,000,000 of a small one."""
    blocks = np.full(1 << 22, 25_000_000, np.int64)
    order = SourceOrder(seed=1, name="web", seq_len=4096, lanes=512, block_tokens=blocks)
    assert order.total_tokens > 10**14
    ordinals = np.arange(512) + 3 * (order.total_tokens // 4096) + 2
    epochs, sequences = order.sequences_of(ordinals)
    assert set(epochs.tolist()) <= {2, 3}
    assert (sequences >= 0).all()
    assert (sequences <= order.total_tokens // 4096).all()
    assert len(set(sequences.tolist())) == 512

    small = Shape([13, 5, 9], 8, 512)
    far = 1_000_000
    ordinals = np.arange(first_of(far, small), first_of(far + 3, small))
    spans = make(small).spans_of(ordinals)
    assert set(spans.epoch.tolist()) <= set(range(far, far + 4))


def digest(spans: Spans) -> str:
    whole = np.stack([getattr(spans, name) for name in ("slot", "column", "epoch", "block", "offset", "count")])
    return hashlib.blake2b(whole.astype("<i8").tobytes(), digest_size=8).hexdigest()


def test_golden_values() -> None:
    """A change of any of these would move the stream of every run and every checkpoint."""
    small, large = Shape([13, 5, 9, 31, 2], 8, 512), Shape([77, 130, 5, 211] * 60, 3, 128)
    wide = Shape([123_457, 130_001, 99_999, 131_071, 100_003], 4, 512)
    assert make(small).sequences_of(np.arange(10))[1].tolist() == [1, 2, 7, 5, 4, 6, 3, 0, 0, 1]
    found = [digest(make(shape).spans_of(np.arange(400))) for shape in (small, large, wide)]
    assert found == ["1fbfbcc29e8a7289", "61242d6644cd0b62", "cddaae82d8acd9c8"]
