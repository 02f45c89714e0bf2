"""Blocks are opened once, kept while there is room, and refused when the file is no longer what was counted."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from headrace import open_shards
from headrace.errors import ShardError
from headrace.manifest import SourceManifest, read_manifest
from headrace.order import SourceOrder
from headrace.reader import BlockCache, SourceReader, last_ordinal
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.loader import strategies
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


@settings(deadline=None, max_examples=20)
@given(strategies.small_shapes() | strategies.large_shapes(), st.booleans(), strategies.seeds)
def test_no_sequence_needs_a_block_after_its_last_ordinal(shape: strategies.Shape, shuffle: bool, seed: int) -> None:
    """Blocks of every size, for two epochs; only those across the border of two lanes are needed once more."""
    tokens = np.array(shape.block_tokens)
    order = SourceOrder(
        seed=seed, name="s", seq_len=shape.seq_len, lanes=shape.lanes, block_tokens=tokens, shuffle=shuffle
    )
    ordinals = np.arange(max(1, 2 * shape.total_tokens // shape.seq_len))
    spans = order.spans_of(ordinals)
    own = spans.epoch == order.epochs_of(ordinals)[spans.slot]
    key, ordinal = spans.epoch[own] * len(tokens) + spans.block[own], spans.slot[own]
    first, last = np.full((2, 3 * len(tokens)), -1)
    first[key[::-1]] = ordinal[::-1]
    last[key] = ordinal
    late = [
        one
        for one in np.flatnonzero(last >= 0).tolist()
        if last[one] > last_ordinal(order, int(first[one]), int(tokens[one % len(tokens)]))
    ]
    assert np.bincount(np.array(late, np.int64) // len(tokens), minlength=1).max() < order.num_lanes


def test_blocks_of_mapped_files_go_when_they_are_done_with_and_decoded_ones_stay(tmp_path: Path) -> None:
    """Memory does not grow with the length of a run; what was decoded may serve the next epoch."""
    for layout, kept in (("headrace", False), ("parquet", True)):
        manifest = manifest_of(tmp_path / layout, layout)
        order = order_of(manifest)
        cache = BlockCache([SourceReader(manifest)], 1, 1 << 20, spare_bytes=0)
        opened = cache.get(0, 0, 0, order, 5)
        assert opened.is_mapped is not kept
        last = last_ordinal(order, 5, opened.num_tokens)
        cache.let_go(0, last)
        assert cache.holds(0, 0, 0)
        cache.let_go(1, last + 1)
        assert cache.holds(0, 0, 0)
        cache.let_go(0, last + 1)
        assert cache.holds(0, 0, 0) is kept
        assert (cache.get(0, 0, 0, order, last + 1) is opened) is kept


def test_a_block_that_is_asked_for_again_after_it_went_is_opened_again(tmp_path: Path) -> None:
    manifest = manifest_of(tmp_path, "headrace")
    order = order_of(manifest)
    cache = BlockCache([SourceReader(manifest)], 1, 1 << 20, spare_bytes=0)
    first = cache.get(0, 0, 0, order, 0)
    cache.let_go(0, 1 << 40)
    again = cache.get(0, 0, 0, order, 1 << 40)
    assert again is not first
    assert again.order.documents.tolist() == first.order.documents.tolist()


def test_with_room_to_spare_a_block_is_opened_once_for_all_epochs_and_held_for_one(tmp_path: Path) -> None:
    manifest = manifest_of(tmp_path, "headrace")
    order = order_of(manifest)
    first = BlockCache([SourceReader(manifest)], 1, 1 << 20).get(0, 0, 0, order, 0)
    cache = BlockCache([SourceReader(manifest)], 1, 1 << 20, spare_bytes=2 * first.nbytes)
    opened = cache.get(0, 0, 0, order, 0).block
    for epoch in range(1, 9):
        cache.let_go(0, epoch << 40)
        assert cache.get(0, epoch, 0, order, epoch << 40).block is opened
        assert [held for held in range(10) if cache.holds(0, held, 0)] == [epoch, epoch + 1]  # the next has it at hand
    for block in range(1, 3):
        cache.get(0, 8, block, order, 8 << 40)
    cache.let_go(0, 9 << 40)
    assert not all(cache.holds(0, 8, block) for block in range(3))
