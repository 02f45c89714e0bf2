"""Pass after pass over finite sources: nothing of a pass is lost, by an interruption, a mix or a shuffle."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from headrace import Batch, Loader, Source

from tests.loader.corpora import Corpus, open_loader, write_corpus


def ids_of(batch: Batch) -> list[int]:
    """The documents of one token in a batch, padding left out."""
    return [
        token
        for row, source in zip(batch.input_ids.tolist(), batch.source.tolist(), strict=True)
        if source >= 0
        for token in row
        if token
    ]


def ones(root: Path, **sizes: int) -> Corpus:
    """Sources of so many documents of a single token, numbered through from 1, in shards of a few."""
    first, sources = 1, {}
    for name, size in sizes.items():
        documents = [[token] for token in range(first, first + size)]
        sources[name] = [documents[n::4] for n in range(min(4, size))]
        first += size
    return write_corpus(root, sources)


@pytest.mark.parametrize("shuffle", [True, False])
@pytest.mark.parametrize("prefetch", [0, 2])
def test_later_passes_are_whole_after_a_resume_within_one(tmp_path: Path, shuffle: bool, prefetch: int) -> None:
    """R04: 128 documents in batches of two; three batches before the end of the second pass, a new process goes on.

    It gets 3 batches, then 64, and 64 again, each pass all 128 documents.
    """
    corpus = ones(tmp_path, web=128)
    options: dict[str, Any] = {"seq_len": 2, "global_batch_size": 2, "micro_batch_size": 2}
    options |= {"epochs": 1, "shuffle": shuffle, "prefetch": prefetch}
    with open_loader(corpus.sources(), **options) as loader:
        assert len(loader) == 64
        assert len(list(loader)) == 64
        second = iter(loader)
        begun = [token for _ in range(61) for token in ids_of(next(second))]
        state = loader.state_dict()
    with open_loader(corpus.sources(), **options) as loader:
        loader.load_state_dict(state)
        rest = [ids_of(batch) for batch in loader]
        assert len(rest) == 3
        assert sorted(begun + [token for batch in rest for token in batch]) == list(range(1, 129))
        for _ in range(2):
            whole = [ids_of(batch) for batch in loader]
            assert len(whole) == 64
            assert sorted(token for batch in whole for token in batch) == list(range(1, 129))


def every_id(loader: Loader) -> Counter[int]:
    return Counter(token for batch in loader for token in ids_of(batch))


@pytest.mark.parametrize("packing", ["concat", "best_fit"])
@pytest.mark.parametrize("shuffle", [True, False])
def test_a_shuffled_mix_still_shows_everything_once(tmp_path: Path, shuffle: bool, packing: str) -> None:
    """M09: sources of 3, 4 and 3 documents, weights 0.2, 0.6, 0.2, whatever the seed and the packing."""
    corpus = ones(tmp_path, a=3, b=4, c=3)
    weights = {"a": 0.2, "b": 0.6, "c": 0.2}
    options: dict[str, Any] = {"seq_len": 2, "global_batch_size": 4, "shuffle": shuffle, "packing": packing}
    once = Counter(range(1, 11))
    for seed in range(20):
        with open_loader(corpus.sources(**weights), seed=seed, epochs=1, **options) as loader:
            assert every_id(loader) == once
    capped = [Source(name, str(corpus.root / name), weight, max_epochs=1) for name, weight in weights.items()]
    for seed in range(5):
        with open_loader(capped, seed=seed, **options) as loader:
            assert every_id(loader) == once


def test_a_source_of_weight_zero_does_not_keep_a_run_alive(tmp_path: Path) -> None:
    """M05: [1, 0], 25 shards of 1,024 documents and one for ever; the run ends with the first, as its length says."""
    documents = [[token] for token in range(1, 25 * 1024 + 1)]
    corpus = write_corpus(tmp_path, {"a": [documents[n::25] for n in range(25)], "b": [[[50_000]] * 100]})
    sources = [Source("a", str(corpus.root / "a"), 1, max_epochs=1), Source("b", str(corpus.root / "b"), 0)]
    with open_loader(sources, seq_len=64, global_batch_size=40, outputs=("input_ids",)) as loader:
        expected = len(loader)
        batches = list(loader)
    assert len(batches) == expected == 2 * 25 * 1024 // 64 // 4
    assert sorted(token for batch in batches for token in ids_of(batch)) == list(range(1, 25 * 1024 + 1))
