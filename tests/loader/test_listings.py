"""What became of a run's shards, named."""

from __future__ import annotations

from pathlib import Path

import pytest
from headrace.listings import Known, difference, recall_listing, remember_listing
from headrace.manifest import read_manifest

from tests.loader.corpora import numbered, write_corpus

OLD = [Known("a", 10, 5, 50), Known("b", 20, 6, 60), Known("c", 30, 7, 70)]


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HEADRACE_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def test_nothing_changed_is_nothing_said() -> None:
    assert difference(OLD, OLD[::-1]) == ""
    assert difference([Known("a", 10)], OLD[:1]) == ""


def test_changes_are_named_with_what_they_were() -> None:
    new = [Known("a", 9, 5, 50), Known("b", 20, 6, 61), Known("d", 1, 1, 1)]
    assert difference(OLD, new) == ("2 changed (a: 10 bytes, now 9, b: 60 tokens, now 61), 1 gone (c), 1 new (d)")


def test_many_are_counted_and_three_shown() -> None:
    gone = difference([Known(f"{n:02}", 1) for n in range(20)], [])
    assert gone == "20 gone (00, 01, 02, …)"


def test_a_listing_is_remembered_by_its_fingerprint() -> None:
    assert recall_listing("0" * 32) is None
    remember_listing("0" * 32, OLD)
    assert recall_listing("0" * 32) == OLD


def test_a_damaged_listing_is_as_if_there_were_none(cache: Path) -> None:
    remember_listing("1" * 32, OLD)
    (cache / "listings" / ("1" * 32)).write_bytes(b"x")
    assert recall_listing("1" * 32) is None


def test_the_oldest_are_forgotten(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("headrace.listings._KEPT", 3)
    for number in range(6):
        remember_listing(f"{number:032}", OLD)
    assert len(list((cache / "listings").iterdir())) == 3
    assert recall_listing(f"{5:032}") == OLD


def test_a_cache_that_cannot_be_written_is_no_fault(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("HEADRACE_CACHE", str(tmp_path / "file"))
    remember_listing("0" * 32, OLD)
    assert recall_listing("0" * 32) is None


def test_reading_a_source_remembers_it(tmp_path: Path) -> None:
    corpus = write_corpus(tmp_path, {"web": [numbered([3, 4]), numbered([5])]})
    manifest = read_manifest("web", corpus.root / "web")
    known = recall_listing(manifest.fingerprint)
    assert known == manifest.listing()
    assert [(one.path, one.num_rows, one.num_tokens) for one in known or ()] == [
        ("00000.arrow", 2, 7),
        ("00001.arrow", 1, 5),
    ]
