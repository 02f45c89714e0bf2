"""Sources and options as a command is given them: `[NAME=]PATH[:WEIGHT]` words, or a JSON file of Loader's options."""

from __future__ import annotations

import argparse
import dataclasses
import difflib
import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from headrace.config import LoaderConfig, Source
from headrace.errors import ConfigError

_PORT = re.compile(r"[?&]endpoint_override=(?:https?://)?[^:&/]*:\d+$")
"the end of a URI whose last number is a port, not a weight"


def add_sources(parser: argparse.ArgumentParser, *, nargs: str = "+") -> None:
    """Describe the arguments that name sources."""
    parser.add_argument(
        "sources", nargs=nargs, metavar="[NAME=]PATH[:WEIGHT]", help="a shard or a folder of shards; also s3://…"
    )
    parser.add_argument("--column", default="tokens", help="column of token ids (default: %(default)s)")


def parse_source(text: str, column: str = "tokens") -> Source:
    """Read `[NAME=]PATH[:WEIGHT]`; the name defaults to the path's last part.

    `=` after a `/` belongs to the path, and so does a `:` that no number follows, as in `s3://bucket/web`.

    Raises:
        ConfigError: a weight that is not allowed, or no path.
    """
    name, equals, rest = text.partition("=")
    if not equals or "/" in name or "?" in name:
        name, rest = "", text
    path, weight = _split_weight(rest)
    return Source(name or Path(path.partition("?")[0]).name or path, path, weight, column)


def _split_weight(text: str) -> tuple[str, float | None]:
    path, colon, number = text.rpartition(":")
    if not colon or _PORT.search(text):
        return text, None
    try:
        return path, float(number)
    except ValueError:
        return text, None


def parse_sources(words: Sequence[str], column: str = "tokens") -> list[Source]:
    """`parse_source` of each of `words`, given apart by a number where they share a name."""
    sources: list[Source] = []
    for word in words:
        source = parse_source(word, column)
        taken = {other.name for other in sources}
        free = next(name for name in _numbered(source.name) if name not in taken)
        sources.append(dataclasses.replace(source, name=free))
    return sources


def _numbered(name: str) -> Sequence[str]:
    return [name, *(f"{name}-{number}" for number in range(2, 1000))]


def read_options(path: Path | str) -> dict[str, Any]:
    """The options of a run from a JSON file: Loader's, with `sources` as a list of Source's fields.

    Only values of JSON; `token_dtype` and other Python objects have no place in it, and decide nothing of the order.

    Raises:
        ConfigError: no such file, not a JSON object, or a field that no Source or Loader has.
    """
    try:
        options = json.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ConfigError(f"--config {path} can't be read ({error}); give a JSON file of Loader's options") from error
    if not isinstance(options, dict) or not isinstance(options.get("sources", []), list):
        raise ConfigError(f"--config {path} must hold a JSON object of Loader's options, with a list of sources")
    known = [field.name for field in dataclasses.fields(LoaderConfig) if field.init]
    for name in options:
        _check_known("option", name, known, path)
    if "sources" in options:
        options["sources"] = [_source(fields, path) for fields in options["sources"]]
    return options


def _source(given: object, path: Path | str) -> Source:
    if not isinstance(given, Mapping):
        raise ConfigError(f"sources of --config {path} holds {given!r}; each must be an object of Source's fields")
    known = [field.name for field in dataclasses.fields(Source) if field.init]
    for name in given:
        _check_known("field of a source", name, known, path)
    for needed in ("name", "path"):
        if needed not in given:
            raise ConfigError(f"a source of --config {path} has no {needed!r}: {dict(given)!r}")
    return Source(**given)


def _check_known(what: str, name: str, known: Sequence[str], path: Path | str) -> None:
    if name not in known:
        close = difflib.get_close_matches(name, known, 1)
        hint = f"did you mean {close[0]!r}?" if close else f"there are {', '.join(known)}"
        raise ConfigError(f"unknown {what} {name!r} in --config {path}; {hint}")
