"""Ranks of byte pairs and a split pattern, by the `tiktoken` library."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import numpy as np
import tiktoken

from headrace.errors import ConfigError
from headrace.tokenize.encoders.found import Found
from headrace.tokenize.encoders.patterns import PATTERNS, cut_places
from headrace.tokenize.options import SpecialTokens


class Ranks:
    """See `Encoder`."""

    def __init__(self, found: Found, special_tokens: SpecialTokens, threads: int) -> None:
        special = dict(found.special)
        if special_tokens == "ids" and not special:
            raise ConfigError(
                f"--special-tokens is ids, and --tokenizer {found.name} is a file of ranks, which names none"
            )
        try:
            ranks = {base64.b64decode(token): int(rank) for token, rank in map(bytes.split, found.content.splitlines())}
            assert found.pattern is not None, "the pattern of ranks is always known"
            self._inner = tiktoken.Encoding(
                found.name, pat_str=found.pattern, mergeable_ranks=ranks, special_tokens=special
            )
        except Exception as error:  # the package raises bare exceptions for patterns and ranks
            raise ConfigError(f"--tokenizer {found.name} can't be read as tiktoken ranks ({error})") from error
        allowed = set(special) if special_tokens == "ids" else set()
        self._encode = partial(self._inner.encode_to_numpy, allowed_special=allowed, disallowed_special=())
        self._pool = ThreadPoolExecutor(threads, "headrace-encode") if threads > 1 else None
        self.vocab_size = self._inner.max_token_value + 1
        self.library = f"tiktoken {tiktoken.__version__}"
        self._can_cut = found.pattern in PATTERNS.values() and not allowed

    def encode(self, texts: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
        """See `Encoder.encode`."""
        arrays = list(map(self._encode, texts) if self._pool is None else self._pool.map(self._encode, texts))
        lengths = np.array([len(array) for array in arrays], np.int64)
        return np.concatenate([np.empty(0, np.uint32), *arrays]).astype(np.uint32, copy=False), lengths

    def decode(self, ids: Sequence[int]) -> str:
        """See `Encoder.decode`."""
        return str(self._inner.decode(list(ids)))

    def places(self, text: str, limit: int) -> list[int] | None:
        """See `Encoder.places`."""
        return cut_places(text, limit) if self._can_cut else None
