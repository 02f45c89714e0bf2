"""Which tokenizer a user means, as bytes that can be kept beside the shards: no path or network is needed later."""

from __future__ import annotations

import base64
import difflib
import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal

from headrace.errors import ConfigError, SourceError
from headrace.places import Place, parse_place

Kind = Literal["tokenizers", "tiktoken", "sentencepiece"]

FILES: Final[Mapping[Kind, str]] = {
    "tokenizers": "tokenizer.json",
    "tiktoken": "tokenizer.tiktoken",
    "sentencepiece": "tokenizer.model",
}
"What the copy beside the shards is called."

_RANKS: Final = re.compile(rb"[A-Za-z0-9+/]+={0,2} \d+\r?\n?")


@dataclass(frozen=True, slots=True)
class Found:
    """A tokenizer: the library that reads it, how the user called it, and its bytes.

    `pattern` and `special` complete a tiktoken encoding, whose file has only its ranks.
    """

    kind: Kind
    name: str
    content: bytes = field(repr=False)
    pattern: str | None = None
    special: Mapping[str, int] = field(default_factory=dict)

    @property
    def fingerprint(self) -> str:
        """SHA-256 over everything that decides its ids."""
        digest = hashlib.sha256(self.content)
        if self.kind == "tiktoken":
            digest.update(json.dumps([self.pattern, sorted(self.special.items())]).encode())
        return digest.hexdigest()

    def record(self) -> dict[str, Any]:
        """What to write down of it."""
        known = {"kind": self.kind, "name": self.name, "sha256": self.fingerprint}
        return known if self.kind != "tiktoken" else {**known, "pattern": self.pattern, "special": dict(self.special)}

    @classmethod
    def of(cls, record: Mapping[str, Any], content: bytes) -> Found:
        """The tokenizer that `record` was written of."""
        return cls(record["kind"], record["name"], content, record.get("pattern"), record.get("special", {}))


def find_tokenizer(name: str, pattern: str | None = None) -> Found:
    """The tokenizer called `name`: a file, a folder with a tokenizer.json, or an encoding of tiktoken.

    `pattern` is the split pattern of a file of ranks: that of a known encoding by its name, or a regular expression.
    Raises ConfigError, naming what is closest, where it is none of these.
    """
    content = _read(name)
    if content is None:
        return _encoding(name)
    if content.lstrip()[:1] == b"{":
        return Found("tokenizers", name, content)
    if _RANKS.fullmatch(content[: content.find(b"\n") + 1] or content):
        return _ranks(name, content, pattern)
    if content[:1] == b"\n":  # the first field of a SentencePiece model is its first piece
        return Found("sentencepiece", name, content)
    raise ConfigError(
        f"--tokenizer {name} begins with {content[:12]!r}; it must be a tokenizer.json, a SentencePiece model, or a "
        "file of tiktoken ranks"
    )


def missing_library(package: str) -> ConfigError:
    """What to say where an optional package is not installed."""
    extra = "ray" if package == "ray" else "tokenize"
    return ConfigError(
        f"this needs the package '{package}', which is not installed here; run: pip install 'headrace[{extra}]'"
    )


def _read(name: str) -> bytes | None:
    """The bytes of the file, None where there is none."""
    try:
        place = parse_place(name)
        if place.remote is None and Path(place.path).is_dir():
            place = _inside(place)
        file = place.open()
        return file.read(0, file.size_bytes).tobytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise ConfigError(f"--tokenizer {name} can't be read ({error.strerror or error})") from error
    except SourceError as error:
        raise ConfigError(f"--tokenizer: {error}") from error


def _inside(folder: Place) -> Place:
    for file in FILES.values():
        if Path(folder.path, file).is_file():
            return folder / file
    raise ConfigError(f"--tokenizer {folder} is a folder without {' or '.join(FILES.values())}")


def _ranks(name: str, content: bytes, pattern: str | None) -> Found:
    from headrace.tokenize.encoders.patterns import PATTERNS  # noqa: PLC0415

    stem = Path(name).name.removesuffix(".tiktoken")
    given = pattern or (stem if stem in PATTERNS else None)
    if given is None:
        raise ConfigError(
            f"--tokenizer {name} is a file of tiktoken ranks, which does not hold how text is split: give --pattern, "
            f"one of {', '.join(PATTERNS)}, or a regular expression"
        )
    return Found("tiktoken", name, content, PATTERNS.get(given, given))


def _encoding(name: str) -> Found:
    try:
        import tiktoken  # noqa: PLC0415
    except ImportError:
        known: list[str] = []
    else:
        known = tiktoken.list_encoding_names()
    if name not in known:
        close = difflib.get_close_matches(name, [*known, *_siblings(name)], 1)
        hint = f"did you mean {close[0]}?" if close else "give a tokenizer.json or another file"
        raise ConfigError(
            f"--tokenizer {name}: there is no such file, and no encoding of tiktoken of that name; {hint}"
        )
    try:
        made = tiktoken.get_encoding(name)
    except Exception as error:  # requests' own, and whatever else stands between here and the file
        raise ConfigError(
            f"--tokenizer {name} could not be fetched ({error}); tiktoken downloads it once: do that where there is a "
            "network, or give its .tiktoken file"
        ) from error
    ranks = sorted(made._mergeable_ranks.items(), key=lambda item: item[1])
    content = b"".join(base64.b64encode(token) + b" %d\n" % rank for token, rank in ranks)
    return Found("tiktoken", name, content, made._pat_str, dict(made._special_tokens))


def _siblings(name: str) -> list[str]:
    parent = Path(name).parent
    return [str(parent / path.name) for path in parent.iterdir()] if parent.is_dir() and "://" not in name else []
