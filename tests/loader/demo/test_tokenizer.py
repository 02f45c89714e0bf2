"""Any text survives the tokenizer, and no text can look like a separator."""

from __future__ import annotations

from pathlib import Path

import pytest
from headrace.demo import tokenizer as bpe
from headrace.demo.gather import Document
from headrace.tokenize.encoders import Encoder, find_tokenizer, open_encoder
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from tests.loader.demo.machines import prose

TEXTS = [prose(seed) for seed in range(20)]


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory: pytest.TempPathFactory) -> Encoder:
    path = tmp_path_factory.mktemp("bpe") / "tokenizer.json"
    bpe.train(TEXTS, path)
    return open_encoder(find_tokenizer(str(path)), special_tokens="text", threads=1)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.text(st.characters(exclude_categories=["Cs"])))
@example(f"a{bpe.EOS_TEXT}b")
@example("\r\n\t  \x00é漢字🎉")
def test_round_trip(tokenizer: Encoder, text: str) -> None:
    ids, _ = tokenizer.encode([text])
    assert tokenizer.decode(ids.tolist()) == text
    assert bpe.EOS_ID not in ids
    assert ids.size == 0 or ids.max() < tokenizer.vocab_size <= bpe.VOCAB_SIZE


def test_training_is_deterministic_and_leaves_nothing_else(tmp_path: Path) -> None:
    paths = [tmp_path / "a.json", tmp_path / "b.json"]
    for path in paths:
        bpe.train(TEXTS, path)
    assert paths[0].read_bytes() == paths[1].read_bytes()
    assert sorted(tmp_path.iterdir()) == paths


def test_training_shortens_text(tokenizer: Encoder) -> None:
    ids, _ = tokenizer.encode([prose(100)])
    assert ids.size < 0.5 * len(prose(100))


def test_the_sample_is_bounded_and_independent_of_order(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bpe, "SAMPLE_CHARACTERS", 5000)
    found = [Document(str(n), text) for n, text in enumerate(TEXTS)]
    texts = bpe.sample(found)
    assert sum(map(len, texts)) == 5000
    assert texts == bpe.sample(found[::-1])


def test_the_kept_name_follows_the_texts(tmp_path: Path) -> None:
    assert bpe.kept_path(tmp_path, TEXTS) == bpe.kept_path(tmp_path, list(TEXTS))
    assert len({bpe.kept_path(tmp_path, TEXTS[:n]) for n in range(5)}) == 5
