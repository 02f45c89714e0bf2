"""Arrow IPC files and streams with a list column come back exactly."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars
import pyarrow as pa
import pytest
from headrace.errors import ShardError, SourceError
from headrace.formats import open_shard
from headrace.formats.shard import MAX_BLOCK_ROWS, MAX_BLOCK_TOKENS
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.loader.formats import strategies
from tests.loader.formats.shards import Documents, check, read_back, write_arrow, write_lists

relaxed = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)


def lists(rows: int) -> list[list[int]]:
    return [[row, row + 1, row + 2] for row in range(rows)]


@relaxed
@given(st.data(), strategies.columns(), strategies.ipc_options())
def test_any_list_column_comes_back_whatever_stands_before_it(
    tmp_path: Path, data: st.DataObject, column: strategies.Column, options: dict[str, Any]
) -> None:
    num_rows = len(column.documents)
    before = data.draw(strategies.neighbours(num_rows))
    table = pa.RecordBatch.from_pydict({**before, "tokens": column.array(), "after": pa.nulls(num_rows)})
    batches, start = [], 0
    for size in data.draw(strategies.batch_sizes(num_rows)):
        batches.append(table.slice(start, size))
        start += size
    path = write_arrow(tmp_path / "shard.arrow", batches, **options)
    shard = check(path, column.documents)
    assert shard.table().num_null == sum(document is None for document in column.documents)
    assert shard.table().token_dtype == np.dtype(column.element_name)


@pytest.mark.parametrize("compression", [None, "zstd"])
def test_null_lists_with_tokens_behind_them_are_left_out(tmp_path: Path, compression: str | None) -> None:
    """F02: a null row may have a range of tokens, or null elements, behind it."""
    values = pa.array([1, 2, None, 4, 5], pa.int32())
    rows = pa.ListArray.from_arrays(pa.array([0, 2, 3, 5], pa.int32()), values, mask=pa.array([False, True, False]))
    path = write_arrow(tmp_path / "a.arrow", [pa.record_batch([rows], names=["tokens"])], compression=compression)
    table = check(path, [[1, 2], None, [4, 5]]).table()
    assert (table.num_empty, table.num_null) == (0, 1)


def test_rows_may_leave_gaps_between_them_and_start_after_zero(tmp_path: Path) -> None:
    rows = pa.array([[9], [1, 2], [3]], pa.list_(pa.uint16())).slice(1)
    check(write_arrow(tmp_path / "a.arrow", [pa.record_batch([rows], names=["tokens"])]), [[1, 2], [3]])


@pytest.mark.parametrize("type_", [pa.null(), pa.list_(pa.null()), pa.large_list(pa.null()), pa.list_(pa.null(), 0)])
def test_a_column_without_types_for_its_tokens_has_no_documents(tmp_path: Path, type_: pa.DataType) -> None:
    """F02: a column that is null throughout is typed null."""
    documents: Documents = [None, None] if pa.types.is_null(type_) else [None, [], None]
    shard = check(write_lists(tmp_path / "a.arrow", documents, type_, batch_rows=2), documents)
    assert shard.table().num_documents.sum() == 0


def test_a_null_element_is_refused_with_file_and_row(tmp_path: Path) -> None:
    rows = pa.array([[1], None, [2, 3], [4, None]], pa.list_(pa.int32()))
    path = write_arrow(tmp_path / "a.arrow", pa.table({"tokens": rows}).to_batches(max_chunksize=2))
    with pytest.raises(ShardError, match=r"row 3 of .*a\.arrow has a null among its tokens"):
        open_shard(path, column="tokens").table()


def test_only_null_elements_are_refused_too(tmp_path: Path) -> None:
    rows = pa.array([[], [None]], pa.list_(pa.null()))
    path = write_arrow(tmp_path / "a.arrow", [pa.record_batch([rows], names=["tokens"])])
    with pytest.raises(ShardError, match=r"row 1 of .* has a null among its tokens"):
        open_shard(path, column="tokens").table()


@pytest.mark.parametrize(
    ("array", "shown"),
    [
        (pa.array([[1.5]]), "list<float>"),
        (pa.array(["text"]), "string"),
        (pa.array([["text"]]), "list<string>"),
        (pa.array([[[1]]]), "list<list<int64>>"),
        (pa.array([1], pa.int32()).dictionary_encode(), "dictionary<int32>"),
        (pa.array([[1]], pa.list_(pa.dictionary(pa.int8(), pa.int32()))), "list<dictionary<int32>>"),
        (pa.array([[1]], pa.list_view(pa.int32())), "list_view<int32>"),
        (pa.array([{"a": 1}]), "struct<int64>"),
        (pa.array([[1]], pa.fixed_shape_tensor(pa.int32(), [1])), "extension 'arrow.fixed_shape_tensor'"),
        (pa.array([1.0]), "float"),
    ],
)
def test_a_type_without_tokens_is_refused_by_name(tmp_path: Path, array: pa.Array[Any], shown: str) -> None:
    path = write_arrow(tmp_path / "a.arrow", [pa.record_batch([array], names=["tokens"])])
    with pytest.raises(SourceError) as caught:
        open_shard(path, column="tokens")
    assert f"{path} has column 'tokens' of type {shown}; tokens must be a list" in str(caught.value)


def test_a_missing_column_is_named_with_those_there_are(tmp_path: Path) -> None:
    """C03: the closest name is offered."""
    path = write_lists(tmp_path / "a.arrow", [[1]], pa.list_(pa.int32()))
    with pytest.raises(
        SourceError, match=r"a\.arrow has no column 'token'; its columns are 'tokens'; did you mean 'tokens'\?"
    ):
        open_shard(path, column="token")


def test_a_column_name_that_is_there_twice_is_refused(tmp_path: Path) -> None:
    array = pa.array([[1]], pa.list_(pa.int32()))
    path = write_arrow(tmp_path / "a.arrow", [pa.record_batch([array, array], names=["tokens", "tokens"])])
    with pytest.raises(SourceError, match="has 2 columns named 'tokens'"):
        open_shard(path, column="tokens")


def test_plain_tokens_are_one_view_over_the_file_for_every_block(tmp_path: Path) -> None:
    path = write_lists(tmp_path / "a.arrow", lists(3 * MAX_BLOCK_ROWS), pa.list_(pa.uint16()), batch_rows=1000)
    shard = open_shard(path, column="tokens")
    blocks = [shard.open_block(index) for index in range(shard.table().num_blocks)]
    assert len(blocks) == 3
    assert all(np.shares_memory(block.tokens, blocks[0].tokens) for block in blocks)
    assert blocks[0].tokens.nbytes == path.stat().st_size & ~1
    assert not blocks[0].tokens.flags.writeable
    assert all(block.nbytes == 24 * len(block.rows) for block in blocks)


@pytest.mark.parametrize("compression", [None, "lz4"])
def test_blocks_are_bounded_and_join_small_batches(tmp_path: Path, compression: str | None) -> None:
    rng = np.random.default_rng(5)
    documents = [list(range(length)) for length in rng.integers(0, 4000, 500)]
    path = write_lists(tmp_path / "a.arrow", documents, pa.list_(pa.uint16()), batch_rows=10, compression=compression)
    table = check(path, documents).table()
    assert (table.num_tokens <= MAX_BLOCK_TOKENS).all()
    assert (table.num_tokens[:-1] > MAX_BLOCK_TOKENS - 40_000).all()


def test_a_document_longer_than_a_block_is_a_block_of_its_own(tmp_path: Path) -> None:
    documents = [[1], list(range(MAX_BLOCK_TOKENS + 5)), [2]]
    table = check(write_lists(tmp_path / "a.arrow", documents, pa.list_(pa.int32())), documents).table()
    assert table.num_documents.tolist() == [1, 1, 1]


def test_a_compressed_batch_is_never_split(tmp_path: Path) -> None:
    """Splitting one would decompress all of it for every part."""
    documents = lists(3 * MAX_BLOCK_ROWS)
    table = check(
        write_lists(tmp_path / "a.arrow", documents, pa.list_(pa.int32()), compression="zstd"), documents
    ).table()
    assert table.num_blocks == 1


def test_misaligned_buffers_are_copied(tmp_path: Path) -> None:
    """A stream that starts two bytes into the file puts every buffer off its alignment."""
    plain = write_lists(tmp_path / "a.arrow", lists(4), pa.list_(pa.int32()), stream=True, use_legacy_format=True)
    shifted = bytearray(plain.read_bytes())
    # A legacy message starts with the length of its metadata; two bytes more of metadata shift all that follows.
    shifted[0:4] = (int.from_bytes(shifted[0:4], "little") + 2).to_bytes(4, "little")
    end = int.from_bytes(plain.read_bytes()[0:4], "little") + 4
    (tmp_path / "b.arrow").write_bytes(shifted[:end] + b"\0\0" + shifted[end:])
    shard = check(tmp_path / "b.arrow", lists(4))
    assert shard.open_block(0).tokens.size == 12


@pytest.mark.parametrize("compression", ["uncompressed", "lz4", "zstd"])
def test_polars_files_come_back(tmp_path: Path, compression: Any) -> None:
    documents = [[1, 2], None, [], [70000]]
    frame = polars.DataFrame({"text": ["a text of more than twelve bytes"] * 4, "tokens": documents})
    frame.write_ipc(tmp_path / "a.arrow", compression=compression)
    check(tmp_path / "a.arrow", documents)
    frame.write_ipc_stream(tmp_path / "b.arrow", compression=compression)
    check(tmp_path / "b.arrow", documents)


def test_blocks_outlive_their_shard(tmp_path: Path) -> None:
    path = write_lists(tmp_path / "a.arrow", lists(10), pa.list_(pa.int32()))
    shard = open_shard(path, column="tokens")
    block = shard.open_block(0)
    shard.close()
    del shard
    path.unlink()
    assert block.tokens[block.starts[9]] == 9


def test_reading_goes_on_after_close(tmp_path: Path) -> None:
    shard = open_shard(write_lists(tmp_path / "a.arrow", lists(10), pa.list_(pa.int32())), column="tokens")
    read_back(shard)
    shard.close()
    assert len(read_back(shard)) == 10


def test_a_file_that_grew_since_it_was_opened_is_refused(tmp_path: Path) -> None:
    """F17: a file whose size changes is reported."""
    path = write_lists(tmp_path / "a.arrow", lists(10), pa.list_(pa.int32()))
    shard = open_shard(path, column="tokens")
    shard.table()
    size = path.stat().st_size
    with path.open("ab") as file:
        file.write(b"more")
    with pytest.raises(
        ShardError, match=rf"block 0 \(from row 0\) of .*a\.arrow changed from {size} to {size + 4} bytes"
    ):
        shard.open_block(0)
