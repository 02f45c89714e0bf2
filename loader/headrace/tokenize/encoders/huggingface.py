"""`tokenizer.json`, by the `tokenizers` library."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from headrace.errors import ConfigError
from headrace.tokenize.encoders.found import Found
from headrace.tokenize.encoders.lists import flattened
from headrace.tokenize.encoders.patterns import PATTERNS, cut_places
from headrace.tokenize.options import SpecialTokens


class HuggingFace:
    """See `Encoder`."""

    def __init__(self, found: Found, special_tokens: SpecialTokens, threads: int) -> None:
        os.environ["TOKENIZERS_PARALLELISM"] = "true" if threads > 1 else "false"
        os.environ.setdefault("RAYON_NUM_THREADS", str(threads))
        import tokenizers  # noqa: PLC0415  # an optional dependency, and its threads are decided by now

        try:
            record = json.loads(found.content)
            self._inner = tokenizers.Tokenizer.from_str(found.content.decode())
        except Exception as error:  # the package raises bare exceptions
            raise ConfigError(f"--tokenizer {found.name} can't be read as a tokenizer.json ({error})") from error
        if (record.get("model") or {}).get("dropout"):
            raise ConfigError(
                f"--tokenizer {found.name} has dropout {record['model']['dropout']}, so its ids differ every time; "
                "set it to null"
            )
        self._inner.no_truncation()
        self._inner.no_padding()
        self._inner.encode_special_tokens = special_tokens == "text"
        self.vocab_size = max(self._inner.get_vocab(with_added_tokens=True).values(), default=0) + 1
        self.library = f"tokenizers {tokenizers.__version__}"
        self._can_cut = _can_cut(record, special_tokens)

    def encode(self, texts: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
        """See `Encoder.encode`."""
        encodings = self._inner.encode_batch_fast(list(texts), add_special_tokens=False)
        return flattened(encoding.ids for encoding in encodings)

    def decode(self, ids: Sequence[int]) -> str:
        """See `Encoder.decode`."""
        return str(self._inner.decode(list(ids), skip_special_tokens=False))

    def places(self, text: str, limit: int) -> list[int] | None:
        """See `Encoder.places`."""
        return cut_places(text, limit) if self._can_cut else None


def _can_cut(record: Mapping[str, Any], special_tokens: SpecialTokens) -> bool:
    """Whether every step of a pipeline is one of which `patterns` holds."""
    normalizer = record.get("normalizer")
    model = record.get("model") or {}
    return (
        (normalizer is None or normalizer == {"type": "NFC"})
        and model.get("type") == "BPE"
        and not model.get("continuing_subword_prefix")
        and not model.get("end_of_word_suffix")
        and _is_known_split(record.get("pre_tokenizer"))
        and not any(_reaches_out(token, special_tokens) for token in record.get("added_tokens") or ())
    )


def _is_known_split(step: Mapping[str, Any] | None) -> bool:
    steps: list[Mapping[str, Any]] = [] if step is None else [step]
    if step is not None and step.get("type") == "Sequence":
        steps = list(step.get("pretokenizers") or ())
    if not steps or steps[-1].get("type") != "ByteLevel" or steps[-1].get("add_prefix_space"):
        return False
    if len(steps) == 1:
        return bool(steps[0].get("use_regex", True))
    first = steps[0]
    return (
        len(steps) == 2
        and first.get("type") == "Split"
        and first.get("behavior") == "Isolated"
        and not first.get("invert")
        and (first.get("pattern") or {}).get("Regex") in PATTERNS.values()
        and not steps[1].get("use_regex", True)
    )


def _reaches_out(token: Mapping[str, Any], special_tokens: SpecialTokens) -> bool:
    """Whether an added token looks at, or takes in, what a cut might part it from."""
    if token.get("special") and special_tokens == "text":
        return False
    content = str(token.get("content", ""))
    return any(token.get(side) for side in ("lstrip", "rstrip", "single_word")) or any(map(str.isspace, content))
