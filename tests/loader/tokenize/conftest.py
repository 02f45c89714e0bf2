"""Tokenizers, trained once."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.loader.tokenize.making import train_sentences, train_tokenizer, write_ranks


@pytest.fixture(scope="session")
def models_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("models")


@pytest.fixture(scope="session")
def tokenizer(models_folder: Path) -> str:
    """A tokenizer.json."""
    return str(train_tokenizer(models_folder / "tokenizer.json"))


@pytest.fixture(scope="session")
def sentences(models_folder: Path) -> str:
    """A SentencePiece model."""
    return str(train_sentences(models_folder / "pieces.model"))


@pytest.fixture(scope="session")
def ranks(models_folder: Path) -> str:
    """Ranks of tiktoken, named so that their pattern is known."""
    return str(write_ranks(models_folder / "cl100k_base.tiktoken"))
