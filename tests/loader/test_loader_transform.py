"""A transformed stream is still one stream: the same at any world size, ahead or not, and after a resume."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import torch
from headrace import StateError, TransformError
from headrace.packing import IGNORED
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.loader.corpora import LAYOUTS, Corpus, open_loader, random_corpus, take_step
from tests.loader.resume_check import check_resume
from tests.loader.several_ranks import Row, data_of, rows_of, whole_steps

Ints = npt.NDArray[np.int64]


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    return random_corpus(tmp_path_factory.mktemp("transform"), {"web": 90, "code": 40}, layouts=LAYOUTS)


def scramble(tokens: Ints, boundaries: Ints, rng: np.random.Generator) -> Ints:
    """Rotate each stretch by a random number, and replace a tenth of the ids."""
    for first, last in zip(boundaries[:-1].tolist(), boundaries[1:].tolist(), strict=True):
        tokens[first:last] = np.roll(tokens[first:last], int(rng.integers(0, last - first)))
    return np.where(rng.random(len(tokens)) < 0.1, rng.integers(0, 9, len(tokens)), tokens)


def unchanged(tokens: Ints, boundaries: Ints, rng: np.random.Generator) -> Ints:
    return tokens


def sequences(loader: Any) -> tuple[Row, ...]:
    return tuple(row for batch in take_step(loader) for row in rows_of(batch))


@pytest.mark.parametrize("packing", ["concat", "best_fit"])
@settings(max_examples=8, deadline=None)
@given(data=st.data())
def test_the_same_at_any_world_size_and_from_any_step(packing: str, corpus: Corpus, data: st.DataObject) -> None:
    opened = data_of(corpus.sources(), packing=packing, transform=scramble)
    world_sizes = st.sampled_from((1, 2, 4))
    whole, _ = whole_steps(opened, 1, 10)
    cut = data.draw(st.integers(1, 9))
    first, position = whole_steps(opened, data.draw(world_sizes), cut)
    rest, _ = whole_steps(opened, data.draw(world_sizes), 10 - cut, position)
    assert first + rest == whole
    plain, _ = whole_steps(data_of(corpus.sources(), packing=packing), 1, 10)
    assert [[row.positions for row in step] for step in whole] == [[row.positions for row in step] for step in plain]
    assert whole != plain


@pytest.mark.parametrize("prefetch", [0, 3])
def test_saved_and_resumed_at_every_step(prefetch: int, corpus: Corpus) -> None:
    def make() -> Any:
        return open_loader(corpus.sources(), transform=scramble, prefetch=prefetch)

    items = check_resume(make, sequences, 5)
    with open_loader(corpus.sources(), transform=scramble, prefetch=1) as loader:
        assert [sequences(loader) for _ in range(5)] == items


@pytest.mark.parametrize("packing", ["concat", "best_fit"])
def test_labels_are_the_next_ids_after_the_transform(packing: str, corpus: Corpus) -> None:
    """P04; the document's last place has none, and a stretch that was not changed has what it had."""
    options: dict[str, Any] = {"packing": packing, "bos_id": 7}
    plain, _ = whole_steps(data_of(corpus.sources(), **options), 1, 6)
    assert whole_steps(data_of(corpus.sources(), transform=unchanged, **options), 2, 6)[0] == plain
    steps, _ = whole_steps(data_of(corpus.sources(), transform=scramble, **options), 1, 6)
    changed = 0
    for row, other in zip((r for s in steps for r in s), (r for s in plain for r in s), strict=True):
        begins = [at for at, place in enumerate(row.positions) if place == 0] + [len(row.ids)]
        for first, last in pairwise(begins):
            assert row.labels[first : last - 1] == row.ids[first + 1 : last]
            is_same = row.ids[first:last] == other.ids[first:last]
            assert row.labels[last - 1] == (other.labels[last - 1] if is_same else IGNORED)
            changed += not is_same
    assert changed > 20


@pytest.mark.parametrize("outputs", [("input_ids",), ("input_ids", "cu_seqlens")])
def test_outputs_that_were_not_asked_for_are_not_there(outputs: tuple[str, ...], corpus: Corpus) -> None:
    with open_loader(corpus.sources(), transform=scramble) as loader:
        wanted = next(loader)
    with open_loader(corpus.sources(), transform=scramble, outputs=outputs, token_dtype=torch.int32) as loader:
        batch = next(loader)
    assert batch.labels is None
    assert batch.position_ids is None
    assert batch.input_ids.tolist() == wanted.input_ids.tolist()
    assert batch.num_trained_tokens == wanted.num_trained_tokens


def test_holes_and_padding_stay(tmp_path: Path) -> None:
    """Masked documents and the end of a run: nothing that a transform returns reaches them."""
    corpus = random_corpus(tmp_path, {"web": 40}, layouts=("arrow",))
    limit = max(corpus.documents["web"][7])
    gone = {token for document in corpus.documents["web"] if max(document) >= limit for token in document}
    options: dict[str, Any] = {"on_bad_data": "mask", "vocab_size": limit, "epochs": 1}

    def ones(tokens: Ints, boundaries: Ints, rng: np.random.Generator) -> Ints:
        return np.ones_like(tokens)

    changed, _ = whole_steps(data_of(corpus.sources(), transform=ones, **options), 2)
    plain, _ = whole_steps(data_of(corpus.sources(), **options), 1)
    assert gone
    for row, other in zip((r for s in changed for r in s), (r for s in plain for r in s), strict=True):
        for token, label, was, then in zip(row.ids, row.labels, other.ids, other.labels, strict=True):
            assert token == 1 or (token, label, then) == (0, IGNORED, IGNORED)
            assert token == 1 or was == 0
    assert sum(row.ids.count(1) for step in changed for row in step) > 100


def test_a_transform_of_another_name_is_refused_on_resume(corpus: Corpus) -> None:
    with open_loader(corpus.sources(), transform=scramble) as loader:
        take_step(loader)
        state = loader.state_dict()
    for options in ({}, {"transform": unchanged}, {"transform": scramble, "transform_name": "scramble/2"}):
        with (
            open_loader(corpus.sources(), **options) as loader,
            pytest.raises(StateError, match=rf'transform = "{__name__}\.scramble" but this loader has (null|")'),
        ):
            loader.load_state_dict(state)
    with open_loader(corpus.sources(), transform=unchanged, transform_name=f"{__name__}.scramble") as loader:
        loader.load_state_dict(state)


@pytest.mark.parametrize("prefetch", [0, 2])
def test_its_faults_reach_the_loop_with_the_sequence_named(prefetch: int, corpus: Corpus) -> None:
    def broken(tokens: Ints, boundaries: Ints, rng: np.random.Generator) -> Ints:
        raise KeyError("mine")

    with open_loader(corpus.sources(), transform=broken, prefetch=prefetch) as loader:
        with pytest.raises(KeyError, match="mine") as raised:
            take_step(loader)
        assert "raised by the loader's transform on sequence 1 of source 'code'" in raised.value.__notes__
    with (
        open_loader(corpus.sources(), transform=lambda tokens, *_: tokens + 9_999, vocab_size=10_000) as loader,
        pytest.raises(TransformError, match=r"id \d{5} at place \d+ of sequence \d+ of source '(web|code)'"),
    ):
        take_step(loader)
