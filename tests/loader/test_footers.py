"""Footers are the same whether one thread reads them or many."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
from headrace import footers
from headrace.discovery import discover
from headrace.errors import ShardError
from headrace.footers import read_footers
from headrace.formats import ShardIndex
from headrace.formats.allowance import UNLIMITED

from tests.loader.corpora import numbered, write_corpus


def read(root: Path) -> list[ShardIndex]:
    return list(read_footers("web", discover("web", root), "tokens", lambda path: False, UNLIMITED))


@pytest.fixture
def source(tmp_path: Path) -> Path:
    shards = [numbered([3] * (1 + n % 5), 1 + 100 * n) for n in range(40)]
    return write_corpus(tmp_path, {"web": shards}).root / "web"


def test_slow_files_are_read_by_threads_and_quick_ones_are_not(source: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names: set[str] = set()
    read_one = footers._read

    def watched(*args: object) -> ShardIndex:
        names.add(threading.current_thread().name.partition("_")[0])
        return read_one(*args)  # type: ignore[arg-type]

    monkeypatch.setattr(footers, "_read", watched)
    monkeypatch.setattr(footers, "_QUICK_S", 1e9)
    quick = read(source)
    assert names == {threading.current_thread().name}
    monkeypatch.setattr(footers, "_QUICK_S", -1.0)
    slow = read(source)
    assert names == {threading.current_thread().name, "headrace-manifest"}
    assert [one.table.num_tokens.tolist() for one in quick] == [one.table.num_tokens.tolist() for one in slow]
    assert len(quick) == len(slow) == 40


@pytest.mark.parametrize("quick_s", [1e9, -1.0])
def test_the_first_fault_in_order_is_raised(source: Path, monkeypatch: pytest.MonkeyPatch, quick_s: float) -> None:
    monkeypatch.setattr(footers, "_QUICK_S", quick_s)
    files = sorted(path for path in source.iterdir())
    for number in (17, 30):
        files[number].write_bytes(b"nothing of the kind")
    with pytest.raises(ShardError, match=f"source 'web': .*{files[17].name}"):
        read(source)
