"""Indexes: `headrace index`, `Source(index=…)`, and those that are remembered of remote sources by themselves."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from headrace import Source
from headrace.cli import main
from headrace.errors import SourceError
from headrace.manifest import SourceManifest, read_manifest

from tests.loader.corpora import Corpus, open_loader, random_corpus, sequences, take_step
from tests.loader.object_store import Faults, Proxy, Store


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HEADRACE_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def corpus(tmp_path: Path) -> Corpus:
    return random_corpus(tmp_path / "data", {"web": 150}, layouts=("arrow", "flat", "parquet"))


@pytest.fixture
def proxy(store: Store) -> Iterator[Proxy]:
    with Proxy(store.port, Faults()) as proxy:
        yield proxy


def same(one: SourceManifest, other: SourceManifest) -> bool:
    """Whether two manifests say the same of their shards and blocks."""
    left_aside = ("name", "root", "index", "shards")
    for name in (field.name for field in fields(SourceManifest) if field.name not in left_aside):
        a, b = getattr(one, name), getattr(other, name)
        if not (np.array_equal(a, b) if isinstance(a, np.ndarray) else a == b):
            return False
    return [(s.path, s.size_bytes, s.num_rows) for s in one.shards] == [
        (s.path, s.size_bytes, s.num_rows) for s in other.shards
    ]


def documents(manifest: SourceManifest) -> list[list[int]]:
    """Every document, block by block."""
    found = []
    for shard, index in zip(manifest.block_shard.tolist(), manifest.block_index.tolist(), strict=True):
        block = manifest.open_shard(shard).open_block(index)
        found += [block.tokens[s : s + n].tolist() for s, n in zip(block.starts, block.lengths, strict=True)]
    return found


def write(source: Path | str, output: Path | str) -> None:
    assert main(["index", str(source), "-o", str(output)]) == 0


def test_an_index_says_what_the_footers_say(corpus: Corpus, tmp_path: Path) -> None:
    web, index = corpus.root / "web", tmp_path / "web.parquet"
    plain = read_manifest("web", web)
    write(web, index)
    indexed = read_manifest("web", web, index=index)
    assert same(plain, indexed)
    assert documents(indexed) == documents(plain)


def test_blocks_are_joined_from_an_index_as_from_footers(corpus: Corpus, tmp_path: Path) -> None:
    write(corpus.root / "web", tmp_path / "i.parquet")
    plain = read_manifest("web", corpus.root / "web", max_blocks=6)
    assert plain.join_factor > 1
    assert same(plain, read_manifest("web", corpus.root / "web", index=tmp_path / "i.parquet", max_blocks=6))


def test_an_index_opens_no_shard_at_start(corpus: Corpus, tmp_path: Path) -> None:
    write(corpus.root / "web", tmp_path / "i.parquet")
    for path in (corpus.root / "web").iterdir():
        times = path.stat()
        path.write_bytes(b"x" * times.st_size)
        os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
    assert read_manifest("web", corpus.root / "web", index=tmp_path / "i.parquet").num_documents == 150


def test_an_index_of_something_else_is_refused_by_name(corpus: Corpus, tmp_path: Path) -> None:
    """A stale index: grown, gone, new, rewritten, of another column; of a copy it is right."""
    web, index = corpus.root / "web", tmp_path / "i.parquet"
    write(web, index)
    shutil.copytree(web, tmp_path / "copy")
    os.utime(tmp_path / "copy/00000.arrow")
    assert read_manifest("web", tmp_path / "copy", index=index).num_documents == 150
    with pytest.raises(SourceError, match=r"source 'web': index .*i\.parquet is of column 'tokens', not 'ids'"):
        read_manifest("web", web, index=index, column="ids")
    os.utime(web / "00000.arrow", (1, 1))
    with pytest.raises(SourceError, match=r"i\.parquet does not match .*web: shards were written anew since; write it"):
        read_manifest("web", web, index=index)
    with (web / "00000.arrow").open("ab") as file:
        file.write(b"x")
    (web / "00002.parquet").unlink()
    shutil.copy(web / "00001.arrow", web / "00009.arrow")
    with pytest.raises(SourceError) as caught:
        read_manifest("web", web, index=index)
    size = (web / "00000.arrow").stat().st_size
    assert (
        f"1 changed (00000.arrow: {size - 1} bytes, now {size}), 1 gone (00002.parquet), 1 new (00009.arrow); write it "
        f"again with `headrace index {web} -o {index}`"
    ) in str(caught.value)


def test_what_is_no_index_is_refused(corpus: Corpus, tmp_path: Path) -> None:
    pq.write_table(pa.table({"a": [1]}), tmp_path / "other.parquet")
    (tmp_path / "junk").write_bytes(b"x" * 100)
    for name in ("other.parquet", "junk", "gone.parquet"):
        with pytest.raises(
            SourceError, match=rf"source 'web': index .*{name} can't be read .*; write it with `headrace"
        ):
            read_manifest("web", corpus.root / "web", index=tmp_path / name)


def test_the_command_refuses_to_write_among_the_shards(corpus: Corpus, capsys: pytest.CaptureFixture[str]) -> None:
    web = corpus.root / "web"
    assert main(["index", str(web), "-o", str(web / "i.parquet")]) == 2
    assert "would be taken for a shard; write it elsewhere, or call it _i.parquet" in capsys.readouterr().err
    write(web, web / "_i.parquet")
    assert read_manifest("web", web, index=web / "_i.parquet").num_documents == 150
    captured = capsys.readouterr()
    assert "3 of 3 shards" in captured.err
    assert f"3 shards of {web}, 150 documents" in captured.out


def test_the_command_names_what_is_wrong(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """C03."""
    assert main(["index", str(tmp_path / "gone"), "-o", str(tmp_path / "i.parquet")]) == 1
    assert "gone does not exist" in capsys.readouterr().err
    with pytest.raises(SystemExit) as exit_:
        main(["index", str(tmp_path), "--ouput", "x"])
    assert exit_.value.code == 2


def test_the_stream_is_the_same_with_an_index_and_from_anywhere(
    corpus: Corpus, tmp_path: Path, store: Store, proxy: Proxy
) -> None:
    """P1: local, remote, remote with an index on the store, and remote from what was remembered."""
    store.put_folder(corpus.root / "web", "index/web")
    uri = store.uri("index/web", proxy.port)
    there = store.uri("index/i.parquet")
    write(store.uri("index/web"), there)
    delivered = []
    for source in (
        Source("web", str(corpus.root / "web")),
        Source("web", uri),
        Source("web", uri, index=there),
        Source("web", uri),
    ):
        with open_loader([source]) as loader:
            delivered.append([sequences(take_step(loader)) for _ in range(12)])
    assert delivered[1:] == [delivered[0]] * 3


def test_a_remote_source_is_remembered_by_itself(
    corpus: Corpus, tmp_path: Path, store: Store, proxy: Proxy, cache: Path
) -> None:
    """I11: keyed by the listing; another listing, or a damaged memory, is as if there were none."""
    store.put_folder(corpus.root / "web", "remember/web")
    uri = store.uri("remember/web", proxy.port)
    first = read_manifest("web", uri)
    before = proxy.counts["HEAD"]
    assert same(read_manifest("web", uri), first)
    assert proxy.counts["HEAD"] == before
    (entry,) = (cache / "sources").iterdir()
    entry.write_bytes(entry.read_bytes()[:-5])
    assert same(read_manifest("web", uri), first)
    assert proxy.counts["HEAD"] > before
    store.put("remember/web/00009.arrow", (corpus.root / "web/00000.arrow").read_bytes())
    assert read_manifest("web", uri).num_documents > 150


@pytest.mark.parametrize("cache_folder", ["x", "y"])
def test_each_node_makes_its_own(
    corpus: Corpus, tmp_path: Path, store: Store, cache_folder: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """I11: a cache folder that is empty, and one that can't be written, start all the same."""
    store.put_folder(corpus.root / "web", f"nodes/{cache_folder}")
    uri = store.uri(f"nodes/{cache_folder}")
    plain = read_manifest("web", corpus.root / "web")
    monkeypatch.setenv("HEADRACE_CACHE", str(tmp_path / cache_folder))
    assert same(read_manifest("web", uri), plain)
    (tmp_path / "file").touch()
    monkeypatch.setenv("HEADRACE_CACHE", str(tmp_path / "file"))
    with pytest.warns(RuntimeWarning, match="index cache"):
        assert same(read_manifest("web", uri), plain)


def test_a_foreign_shard_of_a_remote_index_needs_no_footer(
    corpus: Corpus, store: Store, proxy: Proxy, tmp_path: Path, cache: Path
) -> None:
    store.put_folder(corpus.root / "web", "foreign/web")
    write(store.uri("foreign/web"), tmp_path / "i.parquet")
    shutil.rmtree(cache)
    manifest = read_manifest("web", store.uri("foreign/web", proxy.port), index=tmp_path / "i.parquet")
    before = proxy.counts["HEAD"]
    block = manifest.open_shard(0).open_block(int(manifest.block_index[0]))
    assert proxy.counts["HEAD"] == before + 1
    assert len(block.lengths) == manifest.block_documents[0]
