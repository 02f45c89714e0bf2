"""Blocks are opened once, kept while there is room, and refused when the file is no longer what was counted."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from headrace import open_shards
from headrace.errors import ShardError
from headrace.manifest import SourceManifest, read_manifest
from headrace.order import SourceOrder
from headrace.reader import BlockCache, SourceReader

from tests.loader.corpora import numbered, write_corpus, write_shard


def manifest_of(root: Path, layout: str = "parquet", num_shards: int = 3) -> SourceManifest:
    """A source of three blocks a shard, decoded when they are opened."""
    shards = [numbered([5] * 21, 1 + 105 * n) for n in range(num_shards)]
    corpus = write_corpus(root, {"web": shards}, layouts=(layout,))
    return read_manifest("web", corpus.root / "web")


def order_of(manifest: SourceManifest) -> SourceOrder:
    return SourceOrder(seed=1, name="web", seq_len=8, lanes=4, block_tokens=manifest.block_tokens)


def test_a_block_is_opened_once_for_each_order_of_its_documents(tmp_path: Path) -> None:
    manifest = manifest_of(tmp_path)
    cache, order = BlockCache([SourceReader(manifest)], 1, 1 << 20), order_of(manifest)
    first = cache.get(0, 0, 4, order)
    assert cache.get(0, 0, 4, order) is first
    again = cache.get(0, 1, 4, order)
    assert again is not first
    assert again.order.documents.tolist() != first.order.documents.tolist()
    assert sorted(again.order.documents.tolist()) == sorted(first.order.documents.tolist())


def test_the_kernel_gets_the_addresses_of_what_is_kept(tmp_path: Path) -> None:
    manifest = manifest_of(tmp_path)
    block = BlockCache([SourceReader(manifest)], 1, 1 << 20).get(0, 0, 0, order_of(manifest))
    tokens, order = block.block.tokens, block.order
    assert block.addresses == (7, tokens.ctypes.data, order.begins.ctypes.data, order.edges.ctypes.data)
    assert order.edges[-1] == 7 * (5 + 1)


def test_the_least_recently_used_blocks_make_room(tmp_path: Path) -> None:
    manifest = manifest_of(tmp_path)
    size = BlockCache([SourceReader(manifest)], 1, 1 << 20).get(0, 0, 0, None).nbytes
    cache = BlockCache([SourceReader(manifest)], 1, 3 * size)
    kept = [cache.get(0, 0, block, None) for block in range(3)]
    assert cache.get(0, 0, 0, None) is kept[0]
    cache.get(0, 0, 3, None)
    assert cache.get(0, 0, 0, None) is kept[0]
    assert cache.get(0, 0, 2, None) is kept[2]
    assert cache.get(0, 0, 1, None) is not kept[1]


def test_a_block_larger_than_the_cache_is_still_given(tmp_path: Path) -> None:
    cache = BlockCache([SourceReader(manifest_of(tmp_path))], 1, 1)
    for block in range(9):
        opened = cache.get(0, 0, block, None)
        assert opened.block.tokens[opened.order.begins[0]] == 1 + 35 * block


def test_many_shards_take_turns_in_few_open_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks of a shard that was closed again stay valid."""
    monkeypatch.setattr(open_shards, "MAX_OPEN_SHARDS", 2)
    for layout in ("parquet", "headrace"):
        manifest = manifest_of(tmp_path / layout, layout, 5)
        source = SourceReader(manifest)
        opened = {block: source.open_block(block) for block in range(manifest.num_blocks)}
        for block in reversed(range(manifest.num_blocks)):
            again, before = source.open_block(block), opened[block]
            assert np.array_equal(again.tokens[again.starts[0] :][:5], before.tokens[before.starts[0] :][:5])
        source.close()
        last = opened[manifest.num_blocks - 1]
        assert int(last.tokens[last.starts[-1] + 4]) == 5 * 105


def test_a_file_that_was_replaced_is_named(tmp_path: Path) -> None:
    manifest = manifest_of(tmp_path, num_shards=1)
    write_shard(tmp_path / "web" / "00000", numbered([5] * 20 + [4]), "parquet", "uint32")
    with pytest.raises(ShardError, match=r"00000\.parquet"):
        SourceReader(manifest).open_block(2)


def test_names_and_files(tmp_path: Path) -> None:
    manifest = manifest_of(tmp_path)
    cache = BlockCache([SourceReader(manifest)], 0, 1 << 20)
    assert str(cache.file_of(0, 4)) == str(tmp_path / "web" / "00001.parquet")
    assert cache.name_of(0, 4) == "00001.parquet"


def test_clear_drops_everything(tmp_path: Path) -> None:
    cache = BlockCache([SourceReader(manifest_of(tmp_path))], 0, 1 << 20)
    before = cache.get(0, 0, 0, None)
    cache.clear()
    after = cache.get(0, 0, 0, None)
    assert after is not before
    assert after.block.tokens.tolist() == before.block.tokens.tolist()
