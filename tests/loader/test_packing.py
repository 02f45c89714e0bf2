"""The compiled kernel equals a slow reference, and labels never look past the end of a document."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from headrace.packing import IGNORED, DocumentOrder, order_documents, sequence_bounds, write_spans
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.loader import strategies

Ints = npt.NDArray[np.int64]

ID_TYPES = (np.int64, np.int32, np.int16, np.uint16, np.uint8)
"what torch's token dtypes are in NumPy"

PAIRS = [(stored, np.int64) for stored in strategies.TOKEN_TYPES] + [(np.uint16, ids) for ids in ID_TYPES[1:]]
"(stored, output) types; each pair is compiled on its own, which takes seconds"

NO_LIMIT = 1 << 62

NONE = np.zeros((0, 0), np.int64)

PAD = 77
"what fills holes here"


@dataclass
class Place:
    """One token of a block's stream, as DESIGN §3 describes it."""

    token: int
    label: int
    begins: bool


@dataclass
class OneBlock:
    """A block as the kernel gets it, and its stream in plain Python."""

    order: DocumentOrder
    tokens: npt.NDArray[Any]
    stream: list[Place] = field(default_factory=list)

    def row(self, sequence: int, column: int, offset: int, count: int) -> list[int]:
        order = self.order
        addresses = (self.tokens.ctypes.data, order.begins.ctypes.data, order.edges.ctypes.data)
        return [sequence, column, offset, count, len(order.begins), *addresses]


def block_of(
    documents: list[list[int]],
    dtype: npt.DTypeLike,
    separators: tuple[int, int],
    key: int | None,
    gap: int = 0,
    holes: frozenset[int] = frozenset(),
) -> OneBlock:
    """A block of `documents` with `gap` foreign tokens between them, as where empty rows or other columns lie.

    Of `holes`, which count along `documents`, no token is stored.
    """
    parts: list[int] = []
    starts: list[int] = []
    for number, document in enumerate(documents):
        parts += [7] * gap
        starts.append(-1 if number in holes else len(parts))
        parts += [] if number in holes else document
    lengths = np.array([len(document) for document in documents], np.int64)
    num_separators = sum(value >= 0 for value in separators)
    order = order_documents(key, np.array(starts, np.int64), lengths, num_separators)
    block = OneBlock(order, np.array(parts, dtype))
    for number in order.documents.tolist():
        whole = [value for value in (separators[0],) if value >= 0] + documents[number]
        whole += [value for value in (separators[1],) if value >= 0]
        following = [*whole[1:], IGNORED]
        if number in holes:
            whole, following = [PAD] * len(whole), [IGNORED] * len(whole)
        block.stream += [
            Place(token, label, i == 0) for i, (token, label) in enumerate(zip(whole, following, strict=True))
        ]
    return block


def reference(places: list[Place], id_type: npt.DTypeLike) -> tuple[list[int], list[int], list[int]]:
    """(ids, labels, positions) of one sequence made of `places`."""
    positions: list[int] = []
    for place in places:
        positions.append(0 if place.begins or not positions else positions[-1] + 1)
    ids = np.array([place.token for place in places]).astype(id_type).tolist()
    return ids, [place.label for place in places], positions


def run(
    rows: Ints, stored: npt.NDArray[Any], separators: tuple[int, int], limit: int, ids: Any, labels: Any, positions: Any
) -> tuple[int, int]:
    """(the first bad row or −1, places trained), the micro-batch being the second of its table."""
    filled = np.zeros(len(ids), np.int64)
    rows = rows + np.array([len(ids), *[0] * 7])
    marks, empty = (*separators, PAD), np.empty(0, stored.dtype)
    bad, num_trained = write_spans(rows, len(ids), empty, marks, limit, ids, labels, positions, filled)
    if bad < 0:
        assert filled.tolist() == [rows[rows[:, 0] == len(ids) + n, 3].sum() for n in range(len(ids))]
    return int(bad), int(num_trained)


separator = st.sampled_from((-1, -1, 0, 3, 5))


@settings(deadline=None, max_examples=400)
@given(
    st.sampled_from(PAIRS).flatmap(lambda pair: st.tuples(st.just(pair), strategies.documents(pair[0]))),
    st.tuples(separator, separator),
    st.sampled_from(("none", "labels", "positions", "both")),
    st.integers(2, 24),
    st.none() | strategies.keys,
    st.data(),
)
def test_the_kernel_equals_the_reference(
    stored: tuple[tuple[type, type], list[list[int]]],
    separators: tuple[int, int],
    outputs: str,
    seq_len: int,
    key: int | None,
    data: st.DataObject,
) -> None:
    """Every stored type, every token dtype, separators before, after, both, none; every set of outputs; holes."""
    (token_type, id_type), documents = stored
    holes = data.draw(st.frozensets(st.integers(0, len(documents) - 1)) | st.just(frozenset()))
    block = block_of(documents, token_type, separators, key, data.draw(st.integers(0, 2)), holes)
    end = len(block.stream)
    rows, expected = [], []
    for sequence in range(data.draw(st.integers(1, 4))):
        column, places = 0, []
        while column < seq_len:
            offset = data.draw(st.integers(0, end - 1))
            count = data.draw(st.integers(1, min(end - offset, seq_len - column)))
            rows.append(block.row(sequence, column, offset, count))
            piece = block.stream[offset : offset + count]
            # A piece from the middle of a block stands for the next block: it begins anew.
            places += [replace(piece[0], begins=True), *piece[1:]]
            column += count
        expected.append(reference(places, id_type))
    shape = (len(expected), seq_len)
    label_type = np.int64 if id_type is np.int64 else np.int32
    ids: npt.NDArray[Any] = np.full(shape, 99, id_type)
    labels = np.full(shape, 99, label_type) if outputs in ("labels", "both") else NONE
    positions = np.full(shape, 99, np.int64) if outputs in ("positions", "both") else NONE
    bad, num_trained = run(np.array(rows), block.tokens, separators, NO_LIMIT, ids, labels, positions)
    assert bad == -1
    assert num_trained == sum(label != IGNORED for _, row, _ in expected for label in row)
    assert ids.tolist() == [row for row, _, _ in expected]
    if labels.size:
        assert labels.tolist() == [np.array(row).astype(label_type).tolist() for _, row, _ in expected]
    if positions.size:
        assert positions.tolist() == [row for _, _, row in expected]
        assert positions.max() < seq_len


@settings(deadline=None, max_examples=100)
@given(strategies.documents(np.uint16), st.tuples(separator, separator), strategies.keys, st.integers(2, 9))
def test_cutting_a_block_into_sequences_loses_nothing(
    documents: list[list[int]], separators: tuple[int, int], key: int, seq_len: int
) -> None:
    """P01: the rows joined are the stream, and labels don't change with where it is cut."""
    block = block_of(documents, np.uint16, separators, key)
    whole = len(block.stream) // seq_len * seq_len
    shape = (whole // seq_len, seq_len)
    rows = [block.row(n, 0, n * seq_len, seq_len) for n in range(shape[0])]
    ids, labels, positions = (np.full(shape, 99, np.int64) for _ in range(3))
    run(np.array(rows, np.int64).reshape(-1, 8), block.tokens, separators, NO_LIMIT, ids, labels, positions)
    assert ids.reshape(-1).tolist() == [place.token for place in block.stream[:whole]]
    assert labels.reshape(-1).tolist() == [place.label for place in block.stream[:whole]]


def pack(documents: list[list[int]], separators: tuple[int, int], seq_len: int) -> tuple[list[list[int]], ...]:
    """Sequences of the whole block in file order: ids, labels, positions."""
    block = block_of(documents, np.uint16, separators, None)
    shape = (len(block.stream) // seq_len, seq_len)
    rows = [block.row(n, 0, n * seq_len, seq_len) for n in range(shape[0])]
    ids, labels, positions = (np.full(shape, 99, np.int64) for _ in range(3))
    run(np.array(rows), block.tokens, separators, NO_LIMIT, ids, labels, positions)
    return ids.tolist(), labels.tolist(), positions.tolist()


def test_the_last_token_of_a_document_never_predicts_the_next_document() -> None:
    """P04, without separators, and with each kind."""
    assert pack([[1, 2, 3], [4, 5, 6]], (-1, -1), 6) == (
        [[1, 2, 3, 4, 5, 6]],
        [[2, 3, IGNORED, 5, 6, IGNORED]],
        [[0, 1, 2, 0, 1, 2]],
    )
    assert pack([[1, 2], [4]], (-1, 9), 5) == ([[1, 2, 9, 4, 9]], [[2, 9, IGNORED, 9, IGNORED]], [[0, 1, 2, 0, 1]])
    assert pack([[1, 2], [4]], (8, -1), 5) == ([[8, 1, 2, 8, 4]], [[1, 2, IGNORED, 4, IGNORED]], [[0, 1, 2, 0, 1]])
    assert pack([[1], [4]], (8, 9), 6) == (
        [[8, 1, 9, 8, 4, 9]],
        [[1, 9, IGNORED, 4, 9, IGNORED]],
        [[0, 1, 2, 0, 1, 2]],
    )


def test_a_hole_keeps_its_place_and_trains_nothing() -> None:
    """Padding with labels that no loss counts, its own positions; the documents around it stay as they were."""
    block = block_of([[1, 2], [3, 4, 5], [6]], np.uint16, (-1, 9), None, holes=frozenset({1}))
    ids, labels, positions = (np.full((1, 9), 99, np.int64) for _ in range(3))
    row = np.array([block.row(0, 0, 0, 9)])
    assert run(row, block.tokens, (-1, 9), NO_LIMIT, ids, labels, positions) == (-1, 2 + 1)
    assert ids.tolist() == [[1, 2, 9, PAD, PAD, PAD, PAD, 6, 9]]
    assert labels.tolist() == [[2, 9, IGNORED, *[IGNORED] * 4, 9, IGNORED]]
    assert positions.tolist() == [[0, 1, 2, 0, 1, 2, 3, 0, 1]]


def test_nothing_of_a_hole_is_read() -> None:
    """Its ids may be out of range, and its tokens may not be there at all."""
    order = DocumentOrder(np.arange(1), np.array([-1]), np.array([0, 1 << 40]))
    block = OneBlock(order, np.empty(0, np.uint16))
    ids = np.zeros((1, 8), np.int64)
    assert run(np.array([block.row(0, 0, 1 << 39, 8)]), block.tokens, (0, 0), 1, ids, NONE, NONE) == (-1, 0)
    assert ids.tolist() == [[PAD] * 8]


def test_a_document_that_goes_on_in_the_next_sequence() -> None:
    """Its label crosses the cut, its positions begin again."""
    assert pack([[1, 2, 3, 4, 5]], (-1, 9), 3) == (
        [[1, 2, 3], [4, 5, 9]],
        [[2, 3, 4], [5, 9, IGNORED]],
        [[0, 1, 2], [0, 1, 2]],
    )


def test_documents_of_one_token() -> None:
    """F20: nothing to predict without separators; the separator with one."""
    ids, labels, positions = pack([[1], [2], [3]], (-1, -1), 3)
    assert (ids, labels, positions) == ([[1, 2, 3]], [[IGNORED] * 3], [[0, 0, 0]])
    assert pack([[1], [2]], (-1, 9), 4)[1] == [[9, IGNORED, 9, IGNORED]]


@settings(deadline=None, max_examples=200)
@given(st.sampled_from(strategies.TOKEN_TYPES), st.data())
def test_the_span_of_the_first_id_out_of_range_is_found(token_type: type, data: st.DataObject) -> None:
    """F15: too large, or negative, wherever it is in the piece; never for ids outside of it."""
    info = np.iinfo(token_type)
    limit = data.draw(st.integers(1, 100))
    documents = data.draw(st.lists(st.lists(st.integers(0, limit - 1), min_size=1, max_size=8), min_size=2, max_size=5))
    number = data.draw(st.integers(0, len(documents) - 1))
    place = data.draw(st.integers(0, len(documents[number]) - 1))
    wrong = st.integers(limit, int(info.max)) | (st.integers(int(info.min), -1) if info.min else st.nothing())
    documents[number][place] = data.draw(wrong)
    block = block_of(documents, token_type, (-1, -1), None)
    ids = np.zeros((1, len(block.stream)), np.int64)
    edges = block.order.edges.tolist()
    rows = [block.row(0, edges[n], edges[n], len(document)) for n, document in enumerate(documents)]
    assert run(np.array(rows), block.tokens, (-1, -1), limit, ids, NONE, NONE)[0] == number
    others = np.array([row for n, row in enumerate(rows) if n != number])
    assert run(others, block.tokens, (-1, -1), limit, ids, NONE, NONE)[0] == -1


@pytest.mark.parametrize("token_type", [np.int8, np.int16, np.int32, np.int64])
def test_negative_ids_are_refused_without_a_vocabulary(token_type: type) -> None:
    block = block_of([[1, 2], [3, -1]], token_type, (-1, -1), None)
    ids = np.zeros((1, 4), np.int64)
    assert run(np.array([block.row(0, 0, 0, 4)]), block.tokens, (-1, -1), NO_LIMIT, ids, NONE, NONE)[0] == 0


def test_a_label_out_of_range_is_found_although_its_id_is_not_in_the_piece() -> None:
    """The label of a piece's last place is the first token of the next piece."""
    block = block_of([[1, 2, 900]], np.uint16, (-1, -1), None)
    ids, labels = np.zeros((1, 2), np.int64), np.zeros((1, 2), np.int64)
    row = np.array([block.row(0, 0, 0, 2)])
    assert run(row, block.tokens, (-1, -1), 100, ids, labels, NONE)[0] == 0
    assert run(row, block.tokens, (-1, -1), 100, ids, NONE, NONE)[0] == -1


def test_a_document_of_ten_million_tokens_is_cut_into_sequences() -> None:
    """F20"""
    tokens = np.arange(10_000_000, dtype=np.uint32)
    order = order_documents(5, np.zeros(1, np.int64), np.array([len(tokens)]), 1)
    block = OneBlock(order, tokens)
    rows = [block.row(row, 0, n * 4096, 4096) for row, n in enumerate((0, 1000, 2440))]
    ids, labels, positions = (np.zeros((3, 4096), np.int64) for _ in range(3))
    assert run(np.array(rows), tokens, (-1, 0), NO_LIMIT, ids, labels, positions) == (-1, 3 * 4096)
    for row, number in enumerate((0, 1000, 2440)):
        assert np.array_equal(ids[row], np.arange(number * 4096, (number + 1) * 4096))
        assert np.array_equal(labels[row], ids[row] + 1)
        assert np.array_equal(positions[row], np.arange(4096))


@settings(deadline=None, max_examples=100)
@given(st.lists(st.integers(1, 50), min_size=1, max_size=40), strategies.keys, st.integers(0, 2))
def test_documents_are_permuted_with_their_lengths(lengths: list[int], key: int, num_separators: int) -> None:
    starts = np.concatenate(([0], np.cumsum(lengths)))[:-1] + 3
    order = order_documents(key, starts, np.array(lengths), num_separators)
    assert sorted(order.documents.tolist()) == list(range(len(lengths)))
    assert order.begins.tolist() == [int(starts[d]) for d in order.documents]
    sizes = [lengths[d] + num_separators for d in order.documents]
    assert order.edges.tolist() == [0, *np.cumsum(sizes).tolist()]
    kept = order_documents(None, starts, np.array(lengths), num_separators)
    assert kept.documents.tolist() == list(range(len(lengths)))


@settings(deadline=None, max_examples=200)
@given(st.lists(st.lists(st.booleans(), min_size=5, max_size=5), min_size=1, max_size=6), st.data())
@example([[False] * 5], None)
@example([[True] * 5] * 2, None)
def test_bounds_are_the_stretches_of_documents(begins: list[list[bool]], data: st.DataObject | None) -> None:
    """cu_seqlens: from 0 to the micro-batch's size, a bound at each document and each row, padding its own segment."""
    positions, expected, filled = [], [], []
    for number, row in enumerate(begins):
        full = 5 if data is None else data.draw(st.integers(0, 5))
        filled.append(full)
        places: list[int] = []
        for column, begin in enumerate(row):
            first = column in (0, full) or (begin and column < full)
            places.append(0 if first or column > full else places[-1] + 1)
            if first:
                expected.append(number * 5 + column)
        positions.append(places)
    expected.append(5 * len(begins))
    bounds, longest = sequence_bounds(np.array(positions), np.array(filled))
    assert bounds.dtype == np.int32
    assert bounds.tolist() == expected
    assert longest == max(b - a for a, b in pairwise(expected))
