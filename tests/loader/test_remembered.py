"""A local source of many shards starts from what is remembered, and never from what is no longer so."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import numpy as np
import pytest
from headrace.errors import ShardError
from headrace.manifest import SourceManifest, read_manifest

from tests.loader.corpora import numbered, write_shard

NUM = 40


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HEADRACE_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def web(tmp_path: Path) -> Path:
    for number in range(NUM):
        layout = ("headrace", "parquet", "arrow")[number % 3]
        write_shard(tmp_path / "web" / f"{number:05}", [[], None, *numbered([number + 1] * 9)], layout, "uint32")
    return tmp_path / "web"


@pytest.fixture
def unreadable(monkeypatch: pytest.MonkeyPatch) -> None:
    """From here on no footer may be read."""

    def fail(*_: object, **__: object) -> None:
        raise AssertionError("a footer was read")

    monkeypatch.setattr("headrace.footers.open_shard", fail)


def facts(manifest: SourceManifest) -> list[object]:
    arrays = (manifest.block_shard, manifest.block_index, manifest.block_documents, manifest.block_tokens)
    numbers = (manifest.num_rows, manifest.num_empty, manifest.num_null, manifest.min_token, manifest.max_token)
    return [
        *(array.tolist() for array in arrays),
        *numbers,
        manifest.shards,
        manifest.fingerprint,
        manifest.token_dtype,
    ]


def test_the_second_start_reads_no_footer_and_says_the_same(web: Path, request: pytest.FixtureRequest) -> None:
    first = facts(read_manifest("web", web))
    joined = facts(read_manifest("web", web, max_blocks=50))
    request.getfixturevalue("unreadable")
    assert facts(read_manifest("web", web)) == first
    assert facts(read_manifest("web", web, max_blocks=50)) == joined


@pytest.mark.parametrize("change", ["size", "time", "gone", "new", "column", "damage"])
def test_anything_else_is_read_anew(web: Path, cache: Path, change: str, request: pytest.FixtureRequest) -> None:
    """I11: a stale memory is found by the listing."""
    read_manifest("web", web)
    if change == "size":
        (web / "00000.arrow").write_bytes((web / "00003.arrow").read_bytes())
    elif change == "time":
        os.utime(web / "00001.parquet", (1, 1))
    elif change == "gone":
        (web / "00000.arrow").unlink()
    elif change == "new":
        shutil.copy(web / "00000.arrow", web / "00099.arrow")
    elif change == "damage":
        (entry,) = (cache / "tables").iterdir()
        raw = bytearray(entry.read_bytes())
        raw[-1] ^= 1
        entry.write_bytes(raw)
    request.getfixturevalue("unreadable")
    with pytest.raises(AssertionError, match="a footer was read"):
        read_manifest("web", web, column="ids" if change == "column" else "tokens")


def test_a_shard_cut_after_it_was_remembered_is_refused(web: Path) -> None:
    """F17."""
    read_manifest("web", web)
    path = web / "00002.arrow"
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(ShardError, match=r"00002\.arrow is cut"):
        read_manifest("web", web)


def test_an_unreadable_shard_that_is_left_out_is_not_remembered_as_empty(web: Path) -> None:
    path = web / "00000.arrow"
    whole = path.read_bytes()
    path.write_bytes(b"x" * len(whole))
    left_out = read_manifest("web", web, is_left_out=lambda path: path == "00000.arrow")
    assert left_out.shards[0].num_rows == 0
    with pytest.raises(ShardError, match=r"00000\.arrow starts with"):
        read_manifest("web", web)


def test_few_shards_are_not_remembered(web: Path, cache: Path) -> None:
    for path in sorted(web.iterdir())[:10]:
        path.unlink()
    read_manifest("web", web)
    assert not (cache / "tables").exists()


def test_a_cache_that_cannot_be_written_is_no_fault(web: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for path in web.glob("*.arrow"):
        path.unlink()
    (tmp_path / "file").touch()
    for number in range(NUM):
        write_shard(web / f"h{number}", numbered([2]), "headrace", "uint16")
    monkeypatch.setenv("HEADRACE_CACHE", str(tmp_path / "file"))
    manifests = [read_manifest("web", web) for _ in range(2)]
    assert np.array_equal(manifests[0].block_tokens, manifests[1].block_tokens)
