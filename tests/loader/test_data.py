"""What the sources hold, taken together: weights by tokens, orders, fingerprints."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

from headrace.config import parse_config
from headrace.data import Data, open_data

from tests.loader.corpora import Corpus, numbered, random_corpus, write_corpus


def data_of(corpus: Corpus, weights: dict[str, float] | None = None, **options: Any) -> Data:
    chosen: dict[str, Any] = {"seq_len": 16, "global_batch_size": 8, "micro_batch_size": 4, "seed": 5, "eos_id": 0}
    return open_data(parse_config({"sources": corpus.sources(**(weights or {})), **chosen, **options}))


def test_without_weights_shares_are_those_of_the_tokens(tmp_path: Path) -> None:
    """M03: not those of documents or files, and separators don't count."""
    corpus = write_corpus(tmp_path, {"long": [numbered([300])], "short": [numbered([1] * 50), numbered([1] * 50)]})
    assert data_of(corpus).weights_ppm == {"long": 750_000, "short": 250_000}


def test_weights_are_normalised_and_a_zero_stays(tmp_path: Path) -> None:
    corpus = random_corpus(tmp_path, {"web": 20, "code": 20, "books": 20})
    data = data_of(corpus, {"web": 3, "code": 0, "books": 1})
    assert data.weights_ppm == {"web": 750_000, "code": 0, "books": 250_000}


def test_orders_count_the_separators(tmp_path: Path) -> None:
    corpus = random_corpus(tmp_path, {"web": 20})
    totals = [
        data_of(corpus, eos_id=eos, bos_id=bos).orders()[0].total_tokens
        for eos, bos in ((None, None), (0, None), (None, 1), (0, 1))
    ]
    tokens = corpus.num_tokens("web")
    assert totals == [tokens, tokens + 20, tokens + 20, tokens + 40]


def test_each_thread_gets_orders_of_its_own(tmp_path: Path) -> None:
    data = data_of(random_corpus(tmp_path, {"web": 20}))
    assert data.orders()[0] is not data.orders()[0]


def test_a_fingerprint_is_of_the_data_and_not_of_where_it_lies(tmp_path: Path) -> None:
    corpus = random_corpus(tmp_path / "here", {"web": 20, "code": 20})
    before = data_of(corpus).fingerprints
    assert set(before) == {"web", "code"}
    assert before["web"] != before["code"]
    shutil.copytree(tmp_path / "here", tmp_path / "there")
    assert data_of(Corpus(tmp_path / "there", corpus.documents)).fingerprints == before
    write_corpus(tmp_path / "there", {"web": [numbered([7] * 20)]})
    after = data_of(Corpus(tmp_path / "there", corpus.documents)).fingerprints
    assert after["web"] != before["web"]
    assert after["code"] == before["code"]


def test_state_size_does_not_grow_with_shards(tmp_path: Path) -> None:
    """T02: a fingerprint is as long for 400 shards as for 2."""
    few = write_corpus(tmp_path / "few", {"web": [numbered([5])] * 2})
    many = write_corpus(tmp_path / "many", {"web": [numbered([5])] * 400})
    lengths = [len(str(data_of(corpus, seq_len=4).fingerprints)) for corpus in (few, many)]
    assert lengths[0] == lengths[1]
