"""What decides the bytes of the shards, and how a later run on the same folder is held against it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from typing import Final, Literal, get_args

from headrace.errors import ConfigError

Compression = Literal["none", "zstd"]
SpecialTokens = Literal["text", "ids"]
OnBad = Literal["error", "skip"]

SHARD_BYTES: Final = 256_000_000
MAX_DOCUMENT_BYTES: Final = 64 << 20
MAX_WHOLE_BYTES: Final = 8 << 20
"""of a document that its tokenizer needs whole: libraries take up to 100 bytes of memory for each of text"""
MIN_SPLIT: Final = 1 << 10

_SIZE: Final = re.compile(r"(\d+(?:\.\d+)?)\s*(k|m|g|ki|mi|gi)?b?", re.IGNORECASE)
_FACTORS: Final = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "ki": 1 << 10, "mi": 1 << 20, "gi": 1 << 30}


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """Everything besides inputs and tokenizer that decides what is written; another value needs another folder."""

    text_column: str = "text"
    vocab_size: int | None = None
    "entries of the model's vocabulary; None: those of the tokenizer"
    shard_bytes: int = SHARD_BYTES
    "a shard's tokens and offsets take so many bytes at most, uncompressed, unless it is one document"
    compression: Compression = "none"
    special_tokens: SpecialTokens = "text"
    "what `<|endoftext|>` inside a text is"
    split_long: int | None = None
    "characters from which on a document is encoded in pieces; None: never where that could change an id"
    max_document_bytes: int | None = None
    "a longer line, row or file is bad input; None: see `completed`"

    def check(self) -> None:
        """Raises ConfigError for a value that can't be."""
        if not self.text_column:
            raise ConfigError("--text-column is empty; it must name the column or key that holds the text")
        _at_least("--shard-size", self.shard_bytes, 1 << 10, "bytes")
        if self.max_document_bytes is not None:
            _at_least("--max-document", self.max_document_bytes, 1, "bytes")
        if self.vocab_size is not None:
            _at_least("--vocab-size", self.vocab_size, 1, "entries")
        if self.split_long is not None:
            _at_least("--split-long", self.split_long, MIN_SPLIT, "characters")
        for name, value, allowed in (
            ("--compression", self.compression, get_args(Compression)),
            ("--special-tokens", self.special_tokens, get_args(SpecialTokens)),
        ):
            if value not in allowed:
                raise ConfigError(f"{name} is {value!r}; it must be one of {', '.join(allowed)}")

    def completed(self, *, can_cut: bool) -> Options:
        """These, with the most bytes of a document decided by whether the tokenizer takes it in pieces.

        A worker stays below 1 GB then, beside the tokenizer itself.
        """
        if self.max_document_bytes is not None:
            return self
        in_pieces = can_cut or (self.split_long is not None and self.split_long <= MAX_WHOLE_BYTES)
        return replace(self, max_document_bytes=MAX_DOCUMENT_BYTES if in_pieces else MAX_WHOLE_BYTES)

    def record(self) -> dict[str, str | int | None]:
        """The options as JSON."""
        return asdict(self)

    @classmethod
    def of(cls, record: Mapping[str, object]) -> Options:
        """The options that `record` made."""
        return cls(**{field.name: record[field.name] for field in fields(cls)})  # type: ignore[arg-type]  # checked when written


def parse_on_bad(text: str) -> OnBad:
    """What to do with bad input; raises ConfigError for another word."""
    if text == "error":
        return "error"
    if text == "skip":
        return "skip"
    raise ConfigError(f"--on-bad is {text!r}; it must be one of {', '.join(get_args(OnBad))}")


def flag(name: str) -> str:
    """The command's option for a field of Options."""
    named = {"shard_bytes": "shard-size", "max_document_bytes": "max-document"}
    return "--" + named.get(name, name.replace("_", "-"))


def parse_size(text: str) -> int:
    """Bytes of `256MB`, `1GiB`, `65536`; raises ValueError for anything else."""
    match = _SIZE.fullmatch(text.strip())
    if match is None:
        raise ValueError(f"it is {text!r}; it must be a size, as in 256MB or 64MiB")
    return round(float(match[1]) * _FACTORS[(match[2] or "").lower()])


def _at_least(name: str, value: int, least: int, unit: str) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise ConfigError(f"{name} is {value!r}; it must be a whole number of {unit}, {least:,} or more")
