"""A transform sees each sequence's own tokens, draws the same numbers for it everywhere, and can't break a batch."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from headrace.errors import ConfigError, TransformError
from headrace.packing import IGNORED
from headrace.transform import Sequences, SequenceTransform, generator_of, transform_name
from hypothesis import given
from hypothesis import strategies as st

Ints = npt.NDArray[np.int64]


def packed(
    filled: list[int], begins: list[list[int]], holes: Sequence[tuple[int, int, int]] = (), size: int = 8
) -> Sequences:
    """Sequences whose ids count up from 1, padding 0; stretches begin at `begins`; holes are (row, first, last)."""
    shape = (len(filled), size)
    ids = np.arange(1, 1 + shape[0] * size).reshape(shape)
    positions = np.ones(shape, np.int64)
    is_hole = np.zeros(shape, np.bool_)
    for row, first, last in holes:
        is_hole[row, first:last] = True
        ids[row, first:last] = 0
    for row, (end, starts) in enumerate(zip(filled, begins, strict=True)):
        ids[row, end:] = 0
        positions[row, starts] = 0
        positions[row, end:] = 0
    return Sequences(ids, np.where(is_hole, IGNORED, 7), positions, np.array(filled), is_hole)


def apply(transform: Callable[..., Any], made: Sequences, limit: int = 1000) -> int:
    rows = len(made.filled)
    return SequenceTransform(transform, seed=1, id_limit=limit).apply(made, ["web"] * rows, np.arange(5, 5 + rows))


def test_labels_are_those_of_the_transformed_ids() -> None:
    """P04: none at a changed stretch's last place, in padding or in a hole; those leave their ids as they are too."""
    made = packed([8, 6, 0], [[0, 3], [0, 2, 4], []], [(1, 2, 4)])
    assert apply(lambda tokens, boundaries, rng: tokens + 100, made) == 2 + 4 + 1 + 1
    assert made.ids[0].tolist() == [101, 102, 103, 104, 105, 106, 107, 108]
    assert made.labels[0].tolist() == [102, 103, IGNORED, 105, 106, 107, 108, IGNORED]
    assert made.ids[1].tolist() == [109, 110, 0, 0, 113, 114, 0, 0]
    assert made.labels[1].tolist() == [110, *[IGNORED] * 3, 114, *[IGNORED] * 3]
    assert made.ids[2].tolist() == [0] * 8
    assert made.labels[2].tolist() == [7] * 8


def test_it_gets_the_sequence_and_its_stretches() -> None:
    """Whole documents or parts of them, holes among them, padding outside of them; its arrays are its own."""
    seen: list[tuple[list[int], list[int]]] = []

    def transform(tokens: Ints, boundaries: Ints, rng: np.random.Generator) -> Ints:
        seen.append((tokens.tolist(), boundaries.tolist()))
        assert tokens.dtype == boundaries.dtype == np.int64
        result = tokens[::-1].copy()
        tokens[:] = boundaries[:] = -1
        return result

    made = packed([8, 5], [[0, 3], [0, 2]], [(1, 2, 5)])
    apply(transform, made)
    assert seen == [(list(range(1, 9)), [0, 3, 8]), ([9, 10, 0, 0, 0, 0, 0, 0], [0, 2, 5])]
    assert made.ids[0].tolist() == list(range(8, 0, -1))
    assert made.ids[1].tolist() == [0] * 8


def test_a_stretch_that_comes_back_as_it_was_keeps_its_labels() -> None:
    """The label at its last place is what the packing put there: the next id of a document that is cut, or none."""
    made = packed([8, 6], [[0, 3, 5], [0, 2]], [(1, 2, 6)])
    made.labels[0, 2] = IGNORED

    def transform(tokens: Ints, boundaries: Ints, rng: np.random.Generator) -> Ints:
        tokens[3:5] += 1
        return tokens

    assert apply(transform, made) == 2 + 1 + 3 + 2
    assert made.labels[0].tolist() == [2, 3, IGNORED, 6, IGNORED, 7, 8, 7]
    assert made.labels[1].tolist() == [10, 7, *[IGNORED] * 6]


def test_narrow_ids_and_labels() -> None:
    made = packed([8], [[0]])
    labels = made.labels.astype(np.int32)
    narrow = Sequences(made.ids.astype(np.uint8), labels, made.positions, made.filled, made.is_hole)
    assert apply(lambda tokens, boundaries, rng: (tokens + 247).tolist(), narrow, 256) == 7
    assert narrow.ids[0].tolist() == list(range(248, 256))
    assert labels[0].tolist() == [*range(249, 256), IGNORED]


@given(st.integers(0, (1 << 63) - 1), st.integers(0, 1 << 61))
def test_generators_follow_from_seed_source_and_ordinal(seed: int, ordinal: int) -> None:
    def draws(*key: Any) -> list[int]:
        drawn: list[int] = generator_of(*key).integers(0, 1 << 62, 3).tolist()
        return drawn

    assert draws(seed, "web", ordinal) == draws(seed, "web", ordinal)
    others = [(seed ^ 1, "web", ordinal), (seed, "wed", ordinal), (seed, "web", ordinal + 1)]
    assert all(draws(*key) != draws(seed, "web", ordinal) for key in others)


@pytest.mark.parametrize(
    ("result", "complaint"),
    [
        (lambda tokens: tokens[:-1], r"int64 of shape \(7,\) for sequence 5 of source 'web'; .* of shape \(8,\)"),
        (lambda tokens: tokens[None], r"int64 of shape \(1, 8\)"),
        (lambda tokens: tokens * 1.0, r"float64 of shape \(8,\)"),
        (lambda tokens: tokens > 3, r"bool of shape \(8,\)"),
        (lambda tokens: None, "NoneType"),
        (lambda tokens: -tokens, "id -1 at place 0 of sequence 5 of source 'web'; ids must be from 0 to 999"),
        (lambda tokens: tokens + 996, "id 1000 at place 3 of sequence 5"),
        (lambda tokens: np.full(8, 1 << 63, np.uint64), "id 9223372036854775808 at place 0"),
    ],
)
def test_what_cant_be_a_sequence_is_refused_by_name(result: Callable[[Ints], Any], complaint: str) -> None:
    with pytest.raises(TransformError, match=complaint):
        apply(lambda tokens, boundaries, rng: result(tokens), packed([8], [[0]]))


def test_its_own_errors_keep_their_type_and_gain_the_place() -> None:
    def transform(tokens: Ints, boundaries: Ints, rng: np.random.Generator) -> Ints:
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine") as raised:
        apply(transform, packed([8], [[0]]))
    assert raised.value.__notes__ == ["raised by the loader's transform on sequence 5 of source 'web'"]


def unchanged(tokens: Ints, boundaries: Ints, rng: np.random.Generator) -> Ints:
    return tokens


def test_names() -> None:
    assert transform_name(None, None) is None
    assert transform_name(unchanged, None) == f"{__name__}.unchanged"
    assert transform_name(unchanged, "mine/2") == "mine/2"
    assert transform_name(functools.partial(unchanged), "mine/2") == "mine/2"
    with pytest.raises(ConfigError, match="which has no name of its own; give transform_name"):
        transform_name(functools.partial(unchanged), None)
    with pytest.raises(ConfigError, match="transform is 3; it must be a function"):
        transform_name(3, None)  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="transform_name is ''; it must be a text"):
        transform_name(unchanged, "")
    with pytest.raises(ConfigError, match="transform_name is 'x' but there is no transform"):
        transform_name(None, "x")
