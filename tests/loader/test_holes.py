"""What can't be read keeps its place: by the counts alone, the same for whoever reads it, and said once."""

from __future__ import annotations

import logging
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from headrace.errors import DataError, ShardError
from headrace.formats import Block
from headrace.holes import HOLE, UNKNOWN_ROW, BadData, hole_block, hole_stretches, out_of_range
from headrace.manifest import read_manifest
from headrace.packing import order_documents
from headrace.reader import SourceReader
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.loader.corpora import LAYOUTS, Documents, numbered, write_corpus, write_shard
from tests.loader.strategies import TOKEN_TYPES


def masking() -> BadData:
    return BadData(masks=True, id_limit=1000, needs_lengths=False)


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADRACE_CACHE", str(tmp_path / "cache"))


@settings(deadline=None)
@given(st.lists(st.integers(1, 9), min_size=1, max_size=12), st.data())
def test_a_hole_block_has_the_counts_of_the_manifest(
    tmp_path_factory: pytest.TempPathFactory, lengths: list[int], data: st.DataObject
) -> None:
    folder = tmp_path_factory.mktemp("block")
    write_corpus(folder, {"web": [numbered(lengths)]})
    manifest = read_manifest("web", folder / "web")
    block = hole_block(manifest, 0)
    assert (len(block.lengths), block.lengths.sum()) == (len(lengths), sum(lengths))
    assert block.lengths.min() >= 1
    assert np.ptp(block.lengths) <= 1
    assert set(block.starts) == {HOLE}
    assert set(block.rows) == {UNKNOWN_ROW}
    key = data.draw(st.integers(0, 99))
    assert (order_documents(key, block.starts, block.lengths, 1).begins == HOLE).all()


@pytest.mark.parametrize("token_type", TOKEN_TYPES)
def test_documents_with_ids_out_of_range(token_type: type[np.integer]) -> None:
    """Negative or too large, anywhere in the document, in every type; what lies between documents is no one's."""
    top = int(np.iinfo(token_type).max)
    tokens = np.array([1, 2, top, 3, 99, 4, 5, 6], token_type)
    if np.iinfo(token_type).min < 0:
        tokens[7] = -1
    block = Block(tokens, np.array([0, 3, 5, 6, HOLE]), np.array([2, 2, 2, 2, 3]), np.arange(5), 0, tokens)
    signed = bool(tokens[7] < 6)
    assert out_of_range(block, 100).tolist() == [False, False, False, signed, False]
    assert out_of_range(block, 99).tolist() == [False, True, False, signed, False]
    assert out_of_range(block, 1 << 62).tolist() == [False, False, False, signed, False]


def broken(folder: Path, layout: str) -> Path:
    """Two shards of two blocks where the format has blocks; the second can be listed but not read."""
    write_corpus(folder, {"web": [numbered([5] * 10), numbered([4, 3] * 5, 100)]}, layouts=(layout,))
    return next((folder / "web").glob("00001.*"))


def spoil(file: Path) -> None:
    """Make a listed file unreadable."""
    file.write_bytes(file.read_bytes() + b"more")


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_block_that_cant_be_read_stops_or_is_masked(
    layout: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    file = broken(tmp_path, layout)
    manifest = read_manifest("web", tmp_path / "web")
    spoil(file)
    bad = np.flatnonzero(manifest.block_shard == 1).tolist()
    with pytest.raises(ShardError, match=file.name):
        SourceReader(manifest).open_block(bad[0])
    caplog.set_level(logging.WARNING, "headrace")
    reader = SourceReader(manifest, masking())
    for _ in range(2):
        assert (reader.open_block(0).starts >= 0).all()
        for block in bad:
            assert (reader.open_block(block).starts == HOLE).all()
    told = [record.getMessage() for record in caplog.records]
    assert len(told) == len(bad)
    documents, tokens = manifest.block_documents[bad[0]], manifest.block_tokens[bad[0]]
    assert told[0].startswith(
        f"source 'web': block {manifest.block_index[bad[0]]} of {file.name} can't be read, so its {documents} "
        f"documents of {tokens} tokens are masked: "
    )


def test_a_file_that_comes_back_stays_masked_in_this_run(tmp_path: Path) -> None:
    """Else its documents would be trained in some sequences of a window and not in others."""
    file = broken(tmp_path, "parquet")
    manifest = read_manifest("web", tmp_path / "web")
    whole = file.read_bytes()
    block = int(np.flatnonzero(manifest.block_shard == 1)[0])
    reader = SourceReader(manifest, masking())
    file.unlink()
    assert (reader.open_block(block).starts == HOLE).all()
    file.write_bytes(whole)
    assert (reader.open_block(block).starts == HOLE).all()
    assert (SourceReader(manifest, masking()).open_block(block).starts >= 0).all()


@pytest.mark.parametrize("layout", LAYOUTS)
def test_documents_with_bad_ids_are_masked_alone(layout: str, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """F15: negative, and from the vocabulary on; the others of the block stay; said once a block."""
    rows: Documents = [[1, 2], [3, -4, 5], [6], [7, 1000], [999]]
    write_corpus(tmp_path, {"web": [rows]}, layouts=(layout,), token_type=np.int16)
    reader = SourceReader(read_manifest("web", tmp_path / "web"), masking())
    caplog.set_level(logging.WARNING, "headrace")
    for _ in range(2):
        block = reader.open_block(0)
        assert (block.starts == HOLE).tolist() == [False, True, False, True, False]
        assert block.rows.tolist() == [0, 1, 2, 3, 4]
    (record,) = caplog.records
    assert record.getMessage().endswith(
        "holds ids that are negative or from 1000 on in 2 documents, which are masked: rows 1, 3"
    )


def test_null_elements_and_wrong_counts_are_masked(tmp_path: Path) -> None:
    """A null among the tokens falsifies a Parquet footer's counts; both are found when the block is read."""
    table = pa.table({"tokens": pa.array([[1, 2], [3, None], [4]], pa.list_(pa.int32()))})
    (tmp_path / "web").mkdir()
    pq.write_table(table, tmp_path / "web" / "a.parquet", row_group_size=3)
    write_shard(tmp_path / "web" / "b", [[5, 6]], "parquet", np.int32)
    manifest = read_manifest("web", tmp_path / "web")
    with pytest.raises(DataError, match=r"row 1 of .*a\.parquet has a null among its tokens"):
        SourceReader(manifest).open_block(0)
    reader = SourceReader(manifest, masking())
    assert (reader.open_block(0).starts == HOLE).all()
    assert int(reader.open_block(0).lengths.sum()) == int(manifest.block_tokens[0])
    assert (reader.open_block(1).starts >= 0).all()


@given(st.lists(st.tuples(st.integers(1, 6), st.booleans()), min_size=1, max_size=12), st.data())
def test_stretches_of_holes(documents: list[tuple[int, bool]], data: st.DataObject) -> None:
    """Exactly the places of holes, whatever part of the stream is asked for."""
    lengths = np.array([length for length, _ in documents], np.int64)
    starts = np.where([hole for _, hole in documents], HOLE, np.cumsum(lengths) - lengths)
    order = order_documents(data.draw(st.integers(0, 99)), starts, lengths, 1)
    is_hole = np.repeat(order.begins < 0, np.diff(order.edges))
    offset = data.draw(st.integers(0, len(is_hole) - 1))
    count = data.draw(st.integers(1, len(is_hole) - offset))
    found = np.zeros(count, np.bool_)
    for first, last in hole_stretches(order, offset, count).tolist():
        assert not found[first:last].any()
        found[first:last] = True
    assert found.tolist() == is_hole[offset : offset + count].tolist()
