"""What `collate` makes of a batch is what the loop gets; the loader still knows the batch."""

from __future__ import annotations

import threading
from typing import Any

import pytest
import torch
from headrace import Batch, ConfigError

from tests.loader.corpora import Corpus, open_loader, random_corpus, take_step


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    return random_corpus(tmp_path_factory.mktemp("collate"), {"web": 90, "code": 40})


def as_dict(batch: Batch) -> dict[str, Any]:
    return {"ids": batch.input_ids + 1, "step": batch.step, "last": batch.last_of_step, "batch": batch}


@pytest.mark.parametrize("prefetch", [0, 2])
def test_iteration_steps_and_state_are_as_without(prefetch: int, corpus: Corpus) -> None:
    with open_loader(corpus.sources(), prefetch=prefetch) as plain:
        wanted = [next(plain) for _ in range(6)]
        state = plain.state_dict()
    with open_loader(corpus.sources(), prefetch=prefetch, collate=as_dict) as loader:
        given: list[Any] = [next(loader) for _ in range(6)]
        for expected, got in zip(wanted, given, strict=True):
            assert isinstance(got, dict)
            assert got["ids"].tolist() == (expected.input_ids + 1).tolist()
            assert (got["step"], got["last"]) == (expected.step, expected.last_of_step)
        assert loader.step == 3
        own = loader.state_dict()
        assert {key: own[key] for key in own if key != "run"} == {key: state[key] for key in state if key != "run"}


def test_it_runs_on_the_prefetch_thread(corpus: Corpus) -> None:
    with open_loader(corpus.sources(), collate=lambda batch: threading.current_thread().name) as loader:
        assert str(next(loader)) == "headrace-prefetch"


def test_observe_takes_the_batch_or_what_was_yielded_last(corpus: Corpus) -> None:
    with open_loader(corpus.sources(), collate=as_dict) as loader:
        losses = torch.ones(4)
        with pytest.raises(ConfigError, match="observe was given a NoneType"):
            loader.observe(None, losses)
        first: Any = next(loader)
        loader.observe(first, losses)
        second: Any = next(loader)
        loader.observe(None, losses)
        loader.observe(second, losses)
        loader.observe(first["batch"], losses)
        with pytest.raises(
            ConfigError, match="observe was given a dict; give the Batch, what this loader yielded last"
        ):
            loader.observe(first, losses)
        with pytest.raises(ConfigError, match="give one for each sequence"):
            loader.observe(second, torch.ones(3))


@pytest.mark.parametrize("prefetch", [0, 2])
def test_its_errors_keep_their_type_and_gain_the_place(prefetch: int, corpus: Corpus) -> None:
    def collate(batch: Batch) -> Batch:
        if (batch.step, batch.micro_step) == (1, 1):
            raise KeyError("mine")
        return batch

    with open_loader(corpus.sources(), prefetch=prefetch, collate=collate) as loader:
        take_step(loader)
        next(loader)
        with pytest.raises(KeyError, match="mine") as raised:
            next(loader)
        assert raised.value.__notes__ == ["raised by the loader's collate on micro-batch 1 of step 1"]


def test_what_is_no_function_is_refused(corpus: Corpus) -> None:
    with pytest.raises(ConfigError, match=r"collate is 3; it must be a function of one headrace\.Batch"):
        open_loader(corpus.sources(), collate=3).__enter__()
