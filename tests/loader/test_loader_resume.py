"""P1, P3: whatever stops a loader, the next one goes on with exactly what was still to come."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Hashable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest
import torch
from headrace import Batch, Loader, StateError
from torch.distributed.checkpoint.state_dict_loader import load
from torch.distributed.checkpoint.state_dict_saver import save

from tests.loader.corpora import Corpus, numbered, open_loader, random_corpus, sequences, take_step, write_corpus
from tests.loader.resume_check import check_resume

SIZES = {"web": 90, "code": 40, "tiny": 1}
WEIGHTS = {"web": 0.5, "code": 0.4, "tiny": 0.1}

pytestmark = pytest.mark.filterwarnings("ignore:source 'tiny' holds:UserWarning")


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    """Two odd sources of several epochs within the test, and one shorter than a sequence."""
    return random_corpus(tmp_path_factory.mktemp("resume"), SIZES, mean=12)


def digest(batches: list[Batch]) -> Hashable:
    """Everything that a step's micro-batches hold."""
    found: list[Hashable] = []
    for batch in batches:
        for name in ("input_ids", "labels", "position_ids", "cu_seqlens", "source"):
            tensor = getattr(batch, name)
            found.append(None if tensor is None else hashlib.blake2b(tensor.numpy().tobytes()).digest())
        found += [batch.step, batch.micro_step, batch.last_of_step, batch.num_trained_tokens, batch.max_seqlen]
    return tuple(found)


def take(loader: Loader) -> Hashable:
    return digest(take_step(loader))


@pytest.mark.parametrize(
    ("prefetch", "micro_batch_size"), [(0, 8), (0, 2), (1, 4), (2, 8), (2, 4), (2, 2), (3, 8), (3, 4)]
)
def test_resume_at_every_step(corpus: Corpus, prefetch: int, micro_batch_size: int) -> None:
    """R01, R10, R11, R12: also before the first step, over epochs, and five times in a row."""

    def make() -> AbstractContextManager[Loader]:
        return open_loader(corpus.sources(**WEIGHTS), prefetch=prefetch, micro_batch_size=micro_batch_size)

    check_resume(make, take, 20 if prefetch == 2 else 8)


@pytest.mark.parametrize("options", [{"outputs": ("input_ids", "cu_seqlens")}, {"packing": "best_fit"}, {"lanes": 1}])
def test_resume_with_other_options(corpus: Corpus, options: dict[str, Any]) -> None:
    check_resume(lambda: open_loader(corpus.sources(**WEIGHTS), **options), take, 10, points=(0, 1, 4, 9, 10))


def test_an_unfinished_step_is_delivered_again_whole(corpus: Corpus) -> None:
    """Its accumulated gradients are not saved either."""
    with open_loader(corpus.sources(**WEIGHTS), micro_batch_size=2) as loader:
        take(loader)
        boundary = loader.state_dict()
        for _ in range(3):
            next(loader)
            assert loader.state_dict() == boundary
            assert loader.step == 1
        next(loader)
        assert loader.step == 2
        second = loader.state_dict()
    with open_loader(corpus.sources(**WEIGHTS), micro_batch_size=2) as again:
        again.load_state_dict(boundary)
        take(again)
        assert again.state_dict() == second


@pytest.mark.parametrize("prefetch", [0, 1, 2, 3])
def test_the_state_of_a_step_within_the_prefetch_range(corpus: Corpus, prefetch: int) -> None:
    """For trainers that take batches ahead of their training: up to prefetch + 1 steps back."""
    with open_loader(corpus.sources(**WEIGHTS), prefetch=prefetch) as loader:
        states = [loader.state_dict()]
        for _ in range(9):
            take(loader)
            states.append(loader.state_dict())
            for step in range(max(0, loader.step - prefetch - 1), loader.step + 1):
                same = loader.state_dict(step=step)
                assert same | {"run": ""} == states[step] | {"run": ""}
        for step in (9 - prefetch - 2, 9 + prefetch + 5, -1):
            with pytest.raises(StateError, match=f"step is {step}; this loader can give the state of steps"):
                loader.state_dict(step=step)
        back = loader.state_dict(step=9 - prefetch)
        taken = [take(loader) for _ in range(3)]
    with open_loader(corpus.sources(**WEIGHTS)) as resumed:
        resumed.load_state_dict(back)
        for _ in range(prefetch):
            take(resumed)
        assert [take(resumed) for _ in range(3)] == taken


def test_only_the_start_is_known_before_the_first_batch(corpus: Corpus) -> None:
    with open_loader(corpus.sources(**WEIGHTS)) as loader:
        assert loader.state_dict(step=0) == loader.state_dict()
        with pytest.raises(StateError, match="step is 1; before the first batch only the state of 0 is known"):
            loader.state_dict(step=1)


def test_saving_again_shortly_after_a_resume(corpus: Corpus) -> None:
    """R11: after 0, 1, 2, 3 micro-batches; with none taken the state is the one that was loaded."""
    with open_loader(corpus.sources(**WEIGHTS)) as loader:
        items = [take(loader) for _ in range(6)]
        loaded = loader.state_dict(step=4)
    for pulls in range(4):
        with open_loader(corpus.sources(**WEIGHTS)) as resumed:
            resumed.load_state_dict(loaded)
            for _ in range(pulls):
                next(resumed)
            state = resumed.state_dict()
        assert (state == loaded) == (pulls < 2)
        with open_loader(corpus.sources(**WEIGHTS)) as third:
            third.load_state_dict(state)
            at = third.step
            assert at == 4 + pulls // 2
            assert take(third) == items[at]


def test_loading_into_a_loader_that_runs(corpus: Corpus) -> None:
    """Back, forward, and to where it is: what was prepared ahead is dropped."""
    with open_loader(corpus.sources(**WEIGHTS), prefetch=3) as loader:
        states, items = [], []
        for _ in range(8):
            states.append(loader.state_dict())
            items.append(take(loader))
        for target in (2, 7, 0, 0, 5):
            loader.load_state_dict(states[target])
            assert loader.step == target
            assert take(loader) == items[target]
        next(loader)
        loader.load_state_dict(loader.state_dict())
        assert take(loader) == items[6]


def test_a_loop_that_was_left_goes_on_where_it_stopped(corpus: Corpus) -> None:
    """E02: leaving early in each epoch neither hangs nor skips."""
    with open_loader(corpus.sources(**WEIGHTS)) as loader:
        expected = [take(loader) for _ in range(9)]
    with open_loader(corpus.sources(**WEIGHTS)) as loader:
        found = []
        for _ in range(3):
            step: list[Batch] = []
            for batch in loader:
                step.append(batch)
                if batch.last_of_step:
                    found.append(digest(step))
                    step = []
                    if len(found) % 3 == 0:
                        break
        assert found == expected


def test_another_global_batch_on_resume(corpus: Corpus) -> None:
    """S02, S04: the order of sequences is one list; a step is a cut of it, of whatever size."""
    sources = corpus.sources(**WEIGHTS)
    with open_loader(sources, global_batch_size=1, micro_batch_size=1) as one:
        expected = [sequences(take_step(one))[0] for _ in range(140)]
    for sizes in ((8, 12, 4), (8, 4, 24), (24, 1, 8), (3, 48, 16)):
        state, at = None, 0
        for size in sizes:
            with open_loader(sources, global_batch_size=size, micro_batch_size=1) as loader:
                if state is not None:
                    loader.load_state_dict(state)
                for _ in range(2):
                    assert sorted(sequences(take_step(loader))) == sorted(expected[at : at + size])
                    at += size
                state = loader.state_dict()


def test_a_mixture_resumes_after_a_source_has_passed_its_first_epoch(tmp_path: Path) -> None:
    """R12: 0.9 to 0.1 of two sources of 50 sequences, 200 delivered: the first is at 30 of its fourth pass."""
    corpus = write_corpus(tmp_path, {"a": [numbered([15] * 50)], "b": [numbered([15] * 50, 5001)]})

    def make() -> AbstractContextManager[Loader]:
        return open_loader(corpus.sources(a=0.9, b=0.1), global_batch_size=10, micro_batch_size=10)

    with make() as loader:
        for _ in range(20):
            take(loader)
        state = loader.state_dict()
    assert json.loads(state["counts"]) == [180, 20]
    assert divmod(180, 50) == (3, 30)
    check_resume(make, take, 26, points=(20, 25))


def test_packed_rows_are_not_counted_as_documents(tmp_path: Path) -> None:
    """R06: three documents a row; after 40 rows come the other 78 documents of the epoch, each once."""
    corpus = write_corpus(tmp_path, {"web": [numbered([3] * 198)]})
    with open_loader(corpus.sources(), seq_len=12, global_batch_size=4) as loader:
        before = [row for _ in range(10) for row in sequences(take_step(loader))]
        state = loader.state_dict()
    with open_loader(corpus.sources(), seq_len=12, global_batch_size=26, micro_batch_size=26) as loader:
        loader.load_state_dict(state)
        after = sequences(take_step(loader))
    first_tokens = [token for row in before + after for token in row if token % 3 == 1]
    assert len(before) == 40
    assert sorted(first_tokens) == [document[0] for document in corpus.documents["web"]]


def test_scaling_up_near_the_end_of_an_epoch(tmp_path: Path) -> None:
    """S03: of eight sequences seven are delivered; the eighth comes in the next step, and each epoch after is whole."""
    corpus = write_corpus(tmp_path, {"web": [numbered([15] * 8)]})
    with open_loader(corpus.sources(), global_batch_size=1, micro_batch_size=1) as loader:
        seen = [sequences(take_step(loader))[0] for _ in range(7)]
        state = loader.state_dict()
    with open_loader(corpus.sources(), global_batch_size=8, micro_batch_size=1) as loader:
        loader.load_state_dict(state)
        steps = [sequences(take_step(loader)) for _ in range(3)]
    rows = [row for step in steps for row in step]
    assert len(set(seen)) == 7
    (last,) = set(rows) - set(seen)
    assert last in steps[0]
    assert rows.count(last) in (3, 4)
    assert all(rows.count(row) in (2, 3) for row in seen)


@pytest.mark.filterwarnings("ignore:torch.distributed is disabled, unavailable or uninitialized:UserWarning")
def test_a_distributed_checkpoint_loads_into_the_state_of_a_loader_not_yet_started(
    corpus: Corpus, tmp_path: Path
) -> None:
    with open_loader(corpus.sources(**WEIGHTS)) as loader:
        for _ in range(4):
            take(loader)
        save({"loader": loader, "step": 4}, checkpoint_id=tmp_path / "step-4")
        expected = [take(loader) for _ in range(3)]
    with open_loader(corpus.sources(**WEIGHTS)) as resumed:
        whole = {"loader": resumed, "step": 0}
        load(whole, checkpoint_id=tmp_path / "step-4")
        assert resumed.step == 4
        assert [take(resumed) for _ in range(3)] == expected


def test_torch_save_and_load(corpus: Corpus, tmp_path: Path) -> None:
    with open_loader(corpus.sources(**WEIGHTS)) as loader:
        take(loader)
        torch.save({"loader": loader.state_dict()}, tmp_path / "checkpoint.pt")
        expected = take(loader)
    with open_loader(corpus.sources(**WEIGHTS)) as resumed:
        resumed.load_state_dict(torch.load(tmp_path / "checkpoint.pt", weights_only=True)["loader"])
        assert take(resumed) == expected


def test_changed_data_is_refused(tmp_path: Path) -> None:
    corpus = random_corpus(tmp_path, {"web": 30, "code": 20})
    with open_loader(corpus.sources()) as loader:
        take(loader)
        state = loader.state_dict()
    write_corpus(tmp_path, {"code": [numbered([3, 4])]})
    with open_loader(corpus.sources()) as loader:
        with pytest.raises(StateError, match="the shards of source 'code' have changed since the state was saved"):
            loader.load_state_dict(state)
        take(loader)
        assert loader.step == 1


def test_a_refused_state_leaves_the_loader_as_it_was(corpus: Corpus) -> None:
    with open_loader(corpus.sources(**WEIGHTS)) as loader:
        items = [take(loader) for _ in range(4)]
    with open_loader(corpus.sources(**WEIGHTS)) as loader:
        assert take(loader) == items[0]
        with pytest.raises(StateError):
            loader.load_state_dict(loader.state_dict() | {"seed": 99})
        assert [take(loader) for _ in range(3)] == items[1:]
