"""A byte-level BPE tokenizer of 8,192 entries, trained on a bounded sample of the corpus and kept for the next run.

Any text survives encoding and decoding unchanged. Entry 0 is the separator; no text can produce it, whatever it
contains.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from headrace.errors import ConfigError

if TYPE_CHECKING:
    from headrace.demo.gather import Document

VOCAB_SIZE: Final = 8192
EOS_ID: Final = 0
"id of the separator that ends a document; the loader adds it"
EOS_TEXT: Final = "<|endoftext|>"
SAMPLE_CHARACTERS: Final = 2_000_000
"of each source at most so many characters are trained on"
_BATCH_DOCUMENTS: Final = 64

try:
    import tokenizers
except ImportError as error:  # an optional dependency, `headrace[demo]`
    raise ConfigError(
        "the demo needs the package 'tokenizers', which is not installed here; run: pip install 'headrace[demo]'"
    ) from error


def sample(documents: Sequence[Document]) -> list[str]:
    """Texts to train on: documents in the order of their digests, at most SAMPLE_CHARACTERS in all."""
    texts: list[str] = []
    left = SAMPLE_CHARACTERS
    for document in sorted(documents, key=lambda document: document.digest):
        if left <= 0:
            break
        texts.append(document.text[:left])
        left -= len(texts[-1])
    return texts


def recipe() -> str:
    """What decides the tokenizer besides the texts."""
    return f"{VOCAB_SIZE} {SAMPLE_CHARACTERS} {EOS_TEXT} {tokenizers.__version__}"


def kept_path(folder: Path, texts: Sequence[str]) -> Path:
    """Where the tokenizer trained on these texts is kept: the name is their fingerprint."""
    whole = hashlib.sha256(recipe().encode())
    for text in texts:
        whole.update(hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest())
    return folder / f"tokenizer-{whole.hexdigest()[:16]}.json"


def train(texts: Sequence[str], path: Path) -> None:
    """Train on `texts` and write `path` atomically. Progress is shown on a terminal."""
    inner = tokenizers.Tokenizer(tokenizers.models.BPE())
    inner.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    inner.decoder = tokenizers.decoders.ByteLevel()
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=VOCAB_SIZE,
        special_tokens=[EOS_TEXT],
        initial_alphabet=sorted(tokenizers.pre_tokenizers.ByteLevel.alphabet()),
        show_progress=os.isatty(2),
    )
    inner.train_from_iterator(_batches(texts), trainer=trainer, length=len(texts))
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_suffix(f".{os.getpid()}.tmp")
    inner.save(str(unfinished))
    unfinished.replace(path)


def _batches(texts: Sequence[str]) -> Iterator[list[str]]:
    for start in range(0, len(texts), _BATCH_DOCUMENTS):
        yield list(texts[start : start + _BATCH_DOCUMENTS])
