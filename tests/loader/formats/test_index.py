"""The index cache: counted once, never trusted when it doesn't fit, never in the way."""

from __future__ import annotations

import os
from pathlib import Path

import pyarrow as pa
import pytest
from headrace.cache import cache_root
from headrace.formats import open_shard

from tests.loader.formats.shards import check, write_lists

DOCUMENTS = [[1, 2], None, [], [3]]


@pytest.fixture
def shard(tmp_path: Path) -> Path:
    return write_lists(tmp_path / "a.arrow", DOCUMENTS, pa.list_(pa.int32()))


def entry(cache: Path) -> Path:
    (path,) = (cache / "index").iterdir()
    return path


def count(shard: Path, column: str = "tokens") -> int:
    return int(open_shard(shard, column=column).table().num_tokens.sum())


def test_an_entry_is_written_once_and_used(shard: Path, cache: Path) -> None:
    assert count(shard) == 3
    written = entry(cache)
    before = written.stat().st_mtime_ns, written.read_bytes()
    check(shard, DOCUMENTS)
    assert (written.stat().st_mtime_ns, written.read_bytes()) == before
    assert written.stat().st_mode & 0o777 == 0o666 & ~current_umask()


def current_umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


@pytest.mark.parametrize("damage", ["empty", "cut", "flipped", "other"])
def test_a_damaged_entry_is_ignored_and_written_again(shard: Path, cache: Path, damage: str) -> None:
    count(shard)
    written = entry(cache)
    whole = written.read_bytes()
    flipped = whole[:-1] + bytes([whole[-1] ^ 1])
    written.write_bytes({"empty": b"", "cut": whole[:-5], "flipped": flipped, "other": b"x" * 200}[damage])
    check(shard, DOCUMENTS)
    assert written.read_bytes() == whole


def test_a_file_with_another_time_or_size_is_counted_again(shard: Path, cache: Path) -> None:
    count(shard)
    status = shard.stat()
    write_lists(shard, [[1], None, [], [2, 3, 4]], pa.list_(pa.int32()))
    assert shard.stat().st_size == status.st_size
    assert count(shard) == 4
    os.utime(shard, ns=(status.st_atime_ns, status.st_mtime_ns - 1))
    assert count(shard) == 4
    assert len(list((cache / "index").iterdir())) == 3


def test_columns_have_entries_of_their_own(tmp_path: Path) -> None:
    array = pa.array([[1, 2]], pa.list_(pa.int32()))
    path = tmp_path / "a.arrow"
    with pa.ipc.new_file(str(path), pa.schema([("a", array.type), ("b", array.type)])) as writer:
        writer.write_batch(pa.record_batch([array, pa.array([[1]], array.type)], names=["a", "b"]))
    assert (count(path, "a"), count(path, "b")) == (2, 1)


def test_a_cache_that_cannot_be_written_warns_and_reading_goes_on(
    shard: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("HEADRACE_CACHE", str(tmp_path / "file"))
    with pytest.warns(RuntimeWarning, match=r"index cache .*file.* can't be written .*; set HEADRACE_CACHE"):
        assert count(shard) == 3


def test_nothing_is_left_beside_the_entries(shard: Path, cache: Path) -> None:
    count(shard)
    assert [path.name for path in (cache / "index").iterdir()] == [entry(cache).name]


def test_the_default_folder_is_under_the_home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("HEADRACE_CACHE")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert cache_root() == tmp_path / ".cache" / "headrace"
