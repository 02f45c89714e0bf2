"""P8: the documents of any global batch can be named, exactly, and a wrong answer is never given."""

from __future__ import annotations

import json
from typing import Any

import pytest
from headrace import Loader, StateError
from headrace.trace import Traced

from tests.loader.corpora import Corpus, open_loader, random_corpus, take_step

WEIGHTS = {"web": 0.6, "code": 0.4}


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    """Shards of single documents each, so that (path, row) finds a document."""
    return random_corpus(tmp_path_factory.mktemp("trace"), {"web": 60, "code": 25}, mean=12)


def rows_of(corpus: Corpus, traced: list[Traced], number: int) -> list[tuple[int, ...]]:
    """The sequences that a trace names, read from the documents themselves, separators put back."""
    shards: dict[tuple[str, int], list[list[int]]] = {}
    for name, documents in corpus.documents.items():
        at = 0
        for n in range(3):
            size = len(range(n, len(documents), 3))
            shards[name, n] = documents[at : at + size]
            at += size
    rows: list[list[int]] = [[] for _ in range(number)]
    for piece in traced:
        document = shards[piece.source, int(piece.path.partition(".")[0])][piece.row]
        rows[piece.slot] += document[piece.start : piece.end]
        if piece.end == len(document) and len(rows[piece.slot]) < 16:
            rows[piece.slot].append(0)
    return [tuple(row) for row in rows]


def delivered(loader: Loader) -> list[tuple[int, ...]]:
    return [tuple(row) for batch in take_step(loader) for row in batch.input_ids.tolist()]


def test_a_trace_names_the_documents_that_were_delivered(corpus: Corpus) -> None:
    """Of every step: to come, just delivered, long past; over epochs and changes of the mix."""
    with open_loader(corpus.sources(**WEIGHTS), prefetch=0) as loader:
        steps = []
        for step in range(20):
            if step == 8:
                loader.set_weights({"web": 1, "code": 4}, ramp_steps=5)
                steps.append(delivered(loader))
                continue
            ahead = rows_of(corpus, loader.trace(step), 8)
            steps.append(delivered(loader))
            assert ahead == steps[-1]
        for step in (19, 12, 9, 8, 7, 0):
            assert rows_of(corpus, loader.trace(step), 8) == steps[step]
        state = loader.state_dict()
    with open_loader(corpus.sources(**WEIGHTS)) as resumed:
        resumed.load_state_dict(state)
        assert [rows_of(corpus, resumed.trace(step), 8) for step in range(20)] == steps


def test_steps_of_every_batch_size_are_named(corpus: Corpus) -> None:
    """A size changed on a resume, and a schedule: each step as it was delivered."""
    steps = []
    with open_loader(corpus.sources(**WEIGHTS)) as loader:
        steps += [delivered(loader) for _ in range(6)]
        state = loader.state_dict()
    with open_loader(corpus.sources(**WEIGHTS), global_batch_size=[(0, 4), (9, 12)]) as loader:
        loader.load_state_dict(state)
        steps += [delivered(loader) for _ in range(6)]
        assert [len(step) for step in steps] == [8] * 6 + [4] * 3 + [12] * 3
        state = loader.state_dict()
        for step, rows in enumerate(steps):
            assert rows_of(corpus, loader.trace(step), len(rows)) == rows
    with open_loader(corpus.sources(**WEIGHTS), global_batch_size=[(0, 4), (9, 12)]) as loader:
        loader.load_state_dict(state)
        assert [rows_of(corpus, loader.trace(step), len(rows)) for step, rows in enumerate(steps)] == steps
        assert list(loader.changes) == [6]


@pytest.mark.parametrize("step", [-1, -100])
def test_there_is_nothing_before_the_first_step(corpus: Corpus, step: int) -> None:
    with open_loader(corpus.sources(**WEIGHTS)) as loader, pytest.raises(StateError, match=f"step is {step}; "):
        loader.trace(step)


def test_what_a_folded_log_no_longer_says_is_refused(corpus: Corpus) -> None:
    with open_loader(corpus.sources(**WEIGHTS), prefetch=0, global_batch_size=1, micro_batch_size=1) as loader:
        steps = []
        for step in range(300):
            loader.set_weights({"web": 1 + step % 3, "code": 1})
            steps.append(delivered(loader))
        state: dict[str, Any] = loader.state_dict()
    first = json.loads(state["log"])[0][1]
    assert first > 0
    with open_loader(corpus.sources(**WEIGHTS), global_batch_size=1, micro_batch_size=1) as resumed:
        with pytest.warns(UserWarning, match="the checkpoint wins"):
            resumed.load_state_dict(state)
        with pytest.raises(
            StateError, match=f"step is 4; what this loader knows of the run reaches back to step {first}"
        ):
            resumed.trace(4)
        ahead = rows_of(corpus, resumed.trace(302), 1)
        assert [delivered(resumed) for _ in range(3)][2] == ahead
