"""SentencePiece models, by the library of that name."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import sentencepiece

from headrace.errors import ConfigError
from headrace.tokenize.encoders.found import Found
from headrace.tokenize.encoders.lists import flattened
from headrace.tokenize.options import SpecialTokens


class Sentences:
    """See `Encoder`. Control pieces in a text are always text; user-defined ones are the model's vocabulary."""

    def __init__(self, found: Found, special_tokens: SpecialTokens, threads: int) -> None:
        if special_tokens == "ids":
            raise ConfigError(
                f"--special-tokens is ids, and --tokenizer {found.name} is a SentencePiece model, which never finds "
                "its control pieces in a text"
            )
        self._inner = sentencepiece.SentencePieceProcessor()
        try:
            self._inner.LoadFromSerializedProto(found.content)
        except Exception as error:  # the package raises bare exceptions
            raise ConfigError(f"--tokenizer {found.name} can't be read as a SentencePiece model ({error})") from error
        self._threads = threads
        self.vocab_size = int(self._inner.get_piece_size())
        self.library = f"sentencepiece {sentencepiece.__version__}"

    def encode(self, texts: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
        """See `Encoder.encode`."""
        rows = self._inner.encode(
            list(texts), out_type=int, num_threads=self._threads, add_bos=False, add_eos=False, enable_sampling=False
        )
        return flattened(rows)

    def decode(self, ids: Sequence[int]) -> str:
        """See `Encoder.decode`."""
        return str(self._inner.decode(list(ids)))

    def places(self, text: str, limit: int) -> list[int] | None:
        """See `Encoder.places`: none is known, since a piece may span spaces."""
        return None
