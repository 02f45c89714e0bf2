"""A world size that doesn't divide the global batch: the same batches, filled up with rows that train nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from headrace.batch import Batch
from headrace.errors import ConfigError
from headrace.plan import Position
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.loader.corpora import Corpus, open_loader, random_corpus
from tests.loader.several_ranks import data_of, rows_of, stream_of, whole_steps

STEPS = 4


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    return random_corpus(tmp_path_factory.mktemp("uneven"), {"web": 60, "code": 30})


def steps_of(sources: Any, rank: int, world_size: int, number: int | None, **options: Any) -> list[list[Batch]]:
    """One rank's micro-batches, step by step; None: to the end of the run."""
    steps: list[list[Batch]] = [[]]
    start = Position.start(len(sources))
    for item in stream_of(data_of(sources, uneven="pad", **options), rank, world_size, start).items():
        steps[-1].append(item.batch)
        if item.finished is not None:
            if len(steps) == number:
                return steps
            steps.append([])
    return steps[:-1]


def check_padding(batch: Batch) -> int:
    """Rows without a source train nothing and come last; returns how many there are."""
    assert batch.labels is not None
    assert batch.position_ids is not None
    padded = batch.source < 0
    assert padded.tolist() == sorted(padded.tolist())
    assert (batch.labels[padded] == -100).all()
    assert (batch.position_ids[padded] == 0).all()
    assert batch.num_trained_tokens == int((batch.labels != -100).sum())
    return int(padded.sum())


@settings(deadline=None, max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.integers(1, 30), st.integers(1, 7), st.integers(1, 9), st.sampled_from(("concat", "best_fit")))
def test_the_global_batches_are_those_of_one_rank(
    corpus: Corpus, size: int, micro: int, world_size: int, packing: str
) -> None:
    sources = corpus.sources(web=0.7, code=0.3)
    options = {"global_batch_size": size, "packing": packing, "outputs": ("input_ids", "labels", "position_ids")}
    whole, _ = whole_steps(data_of(sources, micro_batch_size=1, **options), 1, STEPS)
    ranks = [steps_of(sources, r, world_size, STEPS, micro_batch_size=micro, **options) for r in range(world_size)]
    assert {len(step) for rank in ranks for step in rank} == {-(-size // (micro * world_size))}
    for n in range(STEPS):
        batches = [batch for rank in ranks for batch in rank[n]]
        assert {len(batch.source) for batch in batches} == {micro}
        assert sum(map(check_padding, batches)) == len(batches) * micro - size
        assert [row for batch in batches for row in rows_of(batch) if row.source >= 0] == whole[n]
        assert [batch.last_of_step for batch in ranks[0][n]] == [False] * (len(ranks[0][n]) - 1) + [True]
        trained = sum(label != -100 for row in whole[n] for label in row.labels)
        assert sum(batch.num_trained_tokens for batch in batches) == trained


@pytest.mark.parametrize("remainder", ["pad", "drop"])
def test_a_run_that_ends_does_so_at_the_same_step_on_every_rank(corpus: Corpus, remainder: str) -> None:
    sources = corpus.sources(web=1)
    options: dict[str, Any] = {"global_batch_size": 10, "epochs": 1, "remainder": remainder}
    whole, _ = whole_steps(data_of(sources, micro_batch_size=5, **options), 1)
    ranks = [steps_of(sources, rank, 3, None, micro_batch_size=3, **options) for rank in range(3)]
    assert {len(rank) for rank in ranks} == {len(whole)}
    found = [[r for rank in ranks for b in rank[n] for r in rows_of(b) if r.source >= 0] for n in range(len(whole))]
    assert found == [[row for row in step if row.source >= 0] for step in whole]


def test_num_trained_tokens_scales_the_loss_to_that_of_one_rank(corpus: Corpus) -> None:
    """The mean over ranks of a rank's summed loss × ranks / all trained tokens is the mean over trained tokens."""

    def loss(batch: Batch) -> float:
        assert batch.labels is not None
        each = (batch.input_ids % 7).to(torch.float64)
        return float(each[batch.labels != -100].sum())

    sources = corpus.sources(web=0.7, code=0.3)
    alone = steps_of(sources, 0, 1, 1, global_batch_size=8, micro_batch_size=8)[0][0]
    ranks = [steps_of(sources, rank, 3, 1, global_batch_size=8, micro_batch_size=2)[0] for rank in range(3)]
    trained = sum(batch.num_trained_tokens for rank in ranks for batch in rank)
    means = [sum(loss(batch) for batch in rank) * 3 / trained for rank in ranks]
    assert sum(means) / 3 == pytest.approx(loss(alone) / alone.num_trained_tokens, rel=1e-12)


def test_a_loader_counts_its_micro_batches(corpus: Corpus) -> None:
    with open_loader(corpus.sources(web=1), epochs=1, global_batch_size=5, micro_batch_size=2, uneven="pad") as loader:
        assert len(loader) == len(list(loader))


def test_it_is_refused_unless_asked_for(tmp_path: Path, corpus: Corpus) -> None:
    with pytest.raises(ConfigError, match=r"or set uneven='pad' to fill up with rows of padding"):
        data_and_loader(corpus, "error")
    with pytest.raises(ConfigError, match=r"uneven is 'mask'; it must be one of 'error', 'pad'"):
        data_and_loader(corpus, "mask")
    data_and_loader(corpus, "pad")


def data_and_loader(corpus: Corpus, uneven: str) -> None:
    with open_loader(corpus.sources(), global_batch_size=5, uneven=uneven) as loader:
        assert next(loader).step == 0
