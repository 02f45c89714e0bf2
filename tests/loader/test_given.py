"""What a command is given: sources as words, options as a JSON file."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from headrace import ConfigError, Source
from headrace.given import parse_source, parse_sources, read_options


@pytest.mark.parametrize(
    ("word", "name", "path", "weight"),
    [
        ("/data/web", "web", "/data/web", None),
        ("/data/web/", "web", "/data/web/", None),
        ("web=/data/w:0.7", "web", "/data/w", 0.7),
        ("/data/web:3", "web", "/data/web", 3),
        ("/data/lang=de/a", "a", "/data/lang=de/a", None),
        ("de=/data/lang=de/a:1e-3", "de", "/data/lang=de/a", 0.001),
        ("./a:b", "a:b", "./a:b", None),
        ("s3://bucket/web", "web", "s3://bucket/web", None),
        ("s3://bucket/web:0.5", "web", "s3://bucket/web", 0.5),
        ("web=s3://bucket/w/x:2", "web", "s3://bucket/w/x", 2),
        ("gs://b/web?x=1:0.25", "web", "gs://b/web?x=1", 0.25),
        ("w=s3://b/web?endpoint_override=localhost:9000", "w", "s3://b/web?endpoint_override=localhost:9000", None),
        (
            "s3://b/web?scheme=http&endpoint_override=h:9000:2",
            "web",
            "s3://b/web?scheme=http&endpoint_override=h:9000",
            2,
        ),
    ],
)
def test_a_source_in_a_word(word: str, name: str, path: str, weight: float | None) -> None:
    """F19 too: `=` in a path means nothing."""
    source = parse_source(word)
    assert (source.name, source.path, source.weight) == (name, path, weight)


def test_sources_of_one_name_are_told_apart() -> None:
    sources = parse_sources(["/a/web", "/b/web", "web-2=/c"], "ids")
    assert [source.name for source in sources] == ["web", "web-2", "web-2-2"]
    assert {source.column for source in sources} == {"ids"}


@pytest.mark.parametrize(("word", "said"), [("web=/data:-1", "weight of 'web' is -1.0"), ("web=", "path of source")])
def test_what_no_source_can_be_is_refused(word: str, said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        parse_source(word)


def test_options_from_a_file(tmp_path: Path) -> None:
    file = tmp_path / "run.json"
    file.write_text(json.dumps({"seed": 3, "sources": [{"name": "web", "path": "/data/web", "max_epochs": 2}]}))
    assert read_options(file) == {"seed": 3, "sources": [Source("web", "/data/web", max_epochs=2)]}


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("{", "can't be read"),
        ("[]", "must hold a JSON object"),
        ('{"sede": 1}', "unknown option 'sede' in --config .*; did you mean 'seed'?"),
        ('{"sources": {"web": "/data"}}', "with a list of sources"),
        ('{"sources": ["/data"]}', "each must be an object"),
        ('{"sources": [{"name": "web", "pth": "/data"}]}', "unknown field of a source 'pth'.*'path'?"),
        ('{"sources": [{"name": "web"}]}', "has no 'path'"),
    ],
)
def test_a_file_that_holds_no_options_is_refused(tmp_path: Path, content: str, said: str) -> None:
    file = tmp_path / "run.json"
    file.write_text(content)
    with pytest.raises(ConfigError, match=said):
        read_options(file)


def test_a_missing_file_of_options_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"no\.json can't be read"):
        read_options(tmp_path / "no.json")
