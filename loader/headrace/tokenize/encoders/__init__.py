"""Tokenizers: one file of any of three libraries, and the encoder that it makes.

    found = find_tokenizer("tokenizer.json")
    ids, lengths = open_encoder(found, special_tokens="text", threads=1).encode(["some text", "and more"])

Nothing is put before or after a document: separators are the loader's. The libraries are imported when they are needed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Protocol

import numpy as np
import numpy.typing as npt

from headrace.tokenize.encoders.found import Found, find_tokenizer, missing_library
from headrace.tokenize.options import SpecialTokens

__all__ = ["THREADS", "Encoder", "Found", "find_tokenizer", "open_encoder"]

Ids = npt.NDArray[np.uint32]
Lengths = npt.NDArray[np.int64]


class Encoder(Protocol):
    """Text to ids, the same whatever else is in the batch."""

    @property
    def vocab_size(self) -> int:
        """One more than the largest id."""

    @property
    def library(self) -> str:
        """Name and version of what encodes."""

    def encode(self, texts: Sequence[str]) -> tuple[Ids, Lengths]:
        """The ids of all texts one after the other, and how many each has."""

    def decode(self, ids: Sequence[int]) -> str:
        """The text of ids, special tokens included."""

    def places(self, text: str, limit: int) -> list[int] | None:
        """Where `text` may be cut into pieces of about `limit` characters without changing an id.

        None where no such place is known for this tokenizer.
        """


def open_encoder(found: Found, *, special_tokens: SpecialTokens, threads: int) -> Encoder:
    """The encoder of a tokenizer, using so many threads.

    Raises ConfigError where its library is missing, it can't be read, or what it does is not the same every time.
    """
    try:
        if found.kind == "tokenizers":
            from headrace.tokenize.encoders.huggingface import HuggingFace  # noqa: PLC0415

            return HuggingFace(found, special_tokens, threads)
        if found.kind == "tiktoken":
            from headrace.tokenize.encoders.ranks import Ranks  # noqa: PLC0415

            return Ranks(found, special_tokens, threads)
        from headrace.tokenize.encoders.sentences import Sentences  # noqa: PLC0415

        return Sentences(found, special_tokens, threads)
    except ImportError as error:
        raise missing_library(_PACKAGES[found.kind]) from error


THREADS: Final = {"tokenizers": 4, "tiktoken": 1, "sentencepiece": 1}
"""Threads that one process of each library uses better than so many processes: those of `tokenizers` share what they
remember of words, and let go of the interpreter; the others hold it for a part of their work."""

_PACKAGES: Final = {"tokenizers": "tokenizers", "tiktoken": "tiktoken", "sentencepiece": "sentencepiece"}
