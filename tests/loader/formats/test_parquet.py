"""Parquet shards: counted by the footer alone, for the files of three writers, and checked when read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import polars
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from headrace.errors import ShardError, SourceError
from headrace.formats import open_shard
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.loader.formats import strategies
from tests.loader.formats.shards import check, read_back

ROWS = [[1, 2, 3], None, [], [4], [70000], [], None, [5, 6]]
relaxed = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)


def write(path: Path, documents: Any, type_: pa.DataType | None = None, **options: Any) -> Path:
    pq.write_table(pa.table({"tokens": pa.array(documents, type_ or pa.list_(pa.int32()))}), path, **options)
    return path


def index_entries(cache: Path) -> int:
    return len(list((cache / "index").rglob("*")))


@relaxed
@given(
    column=strategies.columns(min_list_size=1),  # pyarrow writes lists of the fixed size 0 as [null]
    options=st.fixed_dictionaries(
        {
            "row_group_size": st.integers(1, 12),
            "use_dictionary": st.booleans(),
            "data_page_version": st.sampled_from(("1.0", "2.0")),
            "compression": st.sampled_from(("none", "snappy", "zstd")),
            "store_schema": st.booleans(),
        }
    ),
)
def test_any_list_column_comes_back_and_is_counted_by_the_footer(
    tmp_path: Path, cache: Path, column: strategies.Column, options: dict[str, Any]
) -> None:
    path = write(tmp_path / "a.parquet", column.documents, column.type_, **options)
    table = check(path, column.documents).table()
    tokens = [token for document in column.documents for token in document or []]
    assert (table.min_token, table.max_token) == ((min(tokens), max(tokens)) if tokens else (None, None))
    assert index_entries(cache) == 0


@pytest.mark.parametrize("type_", ["INTEGER", "UTINYINT", "USMALLINT", "UINTEGER", "BIGINT", "UBIGINT"])
def test_duckdb_files_are_counted_by_the_footer(tmp_path: Path, cache: Path, type_: str) -> None:
    documents = [None if row is None else [token % 250 for token in row] for row in ROWS]
    with duckdb.connect() as connection:
        connection.register("rows", pa.table({"tokens": documents}))
        connection.sql(
            f"copy (select tokens::{type_}[] as tokens from rows) to '{tmp_path}/a.parquet' (format parquet)"
        )
    check(tmp_path / "a.parquet", documents)
    assert index_entries(cache) == 0


@pytest.mark.parametrize("type_", [polars.UInt16, polars.Int32, polars.Int64])
def test_polars_files_are_counted_by_the_footer(tmp_path: Path, cache: Path, type_: Any) -> None:
    documents = [None if row is None else [token % 250 for token in row] for row in ROWS]
    frame = polars.DataFrame({"tokens": polars.Series(documents, dtype=polars.List(type_))})
    frame.write_parquet(tmp_path / "a.parquet", row_group_size=3)
    check(tmp_path / "a.parquet", documents)
    assert index_entries(cache) == 0


def test_without_statistics_row_groups_are_counted_once_and_remembered(tmp_path: Path, cache: Path) -> None:
    path = write(tmp_path / "a.parquet", ROWS, row_group_size=3, write_statistics=False)
    table = check(path, ROWS).table()
    assert (table.num_empty, table.num_null, table.max_token) == (2, 2, None)
    assert index_entries(cache) == 1
    check(path, ROWS)


def test_null_elements_are_found_when_the_row_group_is_read(tmp_path: Path) -> None:
    """The footer's counts look right; reading names the file and the row."""
    path = write(tmp_path / "a.parquet", [[1], [2], [3, 4], [5, None, 6]], row_group_size=2)
    shard = open_shard(path, column="tokens")
    assert shard.table().num_blocks == 2
    shard.open_block(0)
    with pytest.raises(ShardError, match=r"row 3 of .*a\.parquet has a null among its tokens"):
        shard.open_block(1)


def test_null_elements_that_contradict_the_footer_are_found_at_once(tmp_path: Path) -> None:
    path = write(tmp_path / "a.parquet", [[1, None, None, 2]])
    with pytest.raises(ShardError, match=r"row 0 of .*a\.parquet has a null among its tokens"):
        open_shard(path, column="tokens").table()


def test_row_groups_without_rows_are_blocks_without_documents(tmp_path: Path) -> None:
    """F01: zero row groups, and one empty row group."""
    schema = pa.schema([("tokens", pa.list_(pa.int32()))])
    with pq.ParquetWriter(tmp_path / "none.parquet", schema):
        pass
    check(tmp_path / "none.parquet", [])
    with pq.ParquetWriter(tmp_path / "empty.parquet", schema) as writer:
        writer.write_table(schema.empty_table())
        writer.write_table(pa.table({"tokens": [[1]]}, schema=schema))
    check(tmp_path / "empty.parquet", [[1]])


@pytest.mark.parametrize("type_", [pa.null(), pa.list_(pa.null())])
def test_a_column_without_types_for_its_tokens_has_no_documents(tmp_path: Path, type_: pa.DataType) -> None:
    """F02: a column that is null throughout is typed null."""
    shard = check(write(tmp_path / "a.parquet", [None, None, None], type_), [None, None, None])
    assert shard.table().num_null == 3


@pytest.mark.parametrize(
    ("documents", "shown"),
    [
        ([1, 2], "int64"),
        ([[1.5]], "list<element: double>"),
        (["text"], "string"),
        ([[[1]]], "list<element: list<"),
        ([{"a": 1}], "struct<"),
    ],
)
def test_a_type_without_tokens_is_refused_by_name(tmp_path: Path, documents: Any, shown: str) -> None:
    pq.write_table(pa.table({"tokens": documents}), tmp_path / "a.parquet")
    with pytest.raises(SourceError, match=f"has column 'tokens' of type {shown}"):
        open_shard(tmp_path / "a.parquet", column="tokens")


def test_a_missing_column_is_named_with_those_there_are(tmp_path: Path) -> None:
    path = write(tmp_path / "a.parquet", [[1]])
    with pytest.raises(SourceError, match=r"a\.parquet has no column 'ids'; its columns are 'tokens'"):
        open_shard(path, column="ids")


def test_only_the_asked_column_is_taken_among_others(tmp_path: Path) -> None:
    columns = {"tokens_mask": [[0, 0]], "meta": [{"tokens": [9]}], "tokens": [[1, 2]], "tokens.more": [[5]]}
    pq.write_table(pa.table(columns), tmp_path / "a.parquet")
    check(tmp_path / "a.parquet", [[1, 2]])
    check(tmp_path / "a.parquet", [[5]], column="tokens.more")


def test_a_list_of_one_level_as_older_writers_make_it(tmp_path: Path) -> None:
    path = write(tmp_path / "a.parquet", ROWS, use_compliant_nested_type=False, flavor="spark", version="1.0")
    check(path, ROWS)


def test_a_damaged_row_group_names_file_block_and_row(tmp_path: Path) -> None:
    path = write(tmp_path / "a.parquet", [[7, 8]] * 100, row_group_size=50, compression="none", use_dictionary=False)
    chunk = pq.read_metadata(path).row_group(1).column(0)
    content = bytearray(path.read_bytes())
    content[chunk.data_page_offset : chunk.data_page_offset + chunk.total_compressed_size] = (
        b"\xff" * chunk.total_compressed_size
    )
    path.write_bytes(content)
    shard = open_shard(path, column="tokens")
    shard.open_block(0)
    with pytest.raises(ShardError, match=r"block 1 \(from row 50\) of .*a\.parquet"):
        shard.open_block(1)


def test_a_cut_file_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path / "a.parquet", [[7, 8]] * 100)
    content = path.read_bytes()
    path.write_bytes(content[:-20])
    with pytest.raises(ShardError, match=r"a\.parquet is cut: it starts as a Parquet file"):
        open_shard(path, column="tokens")
    path.write_bytes(content[:100] + content[-60:])
    with pytest.raises(ShardError, match=r"a\.parquet says that its footer has \d+ bytes"):
        open_shard(path, column="tokens")


def test_a_changed_file_is_refused(tmp_path: Path) -> None:
    """F17: a file whose size changes is reported."""
    shard = open_shard(write(tmp_path / "a.parquet", [[7, 8]] * 100), column="tokens")
    write(tmp_path / "a.parquet", [[7, 8, 9]] * 1000)
    with pytest.raises(ShardError, match=r"a\.parquet changed from"):
        shard.open_block(0)


def test_tokens_are_read_once_and_owned(tmp_path: Path) -> None:
    block = open_shard(write(tmp_path / "a.parquet", [[1, 2], [3]]), column="tokens").open_block(0)
    assert block.tokens.tolist() == [1, 2, 3]
    assert block.nbytes == block.tokens.nbytes + 24 * 2
    assert block.tokens.dtype == np.int32


@relaxed
@given(st.data())
def test_damage_before_the_footer_is_an_error_or_harmless(tmp_path: Path, data: st.DataObject) -> None:
    path = write(tmp_path / "a.parquet", ROWS, row_group_size=3, compression="none")
    content = bytearray(path.read_bytes())
    footer_bytes = 8 + int.from_bytes(content[-8:-4], "little")
    at = data.draw(st.integers(4, len(content) - footer_bytes - 4))
    patch = data.draw(st.binary(min_size=1, max_size=4))
    content[at : at + len(patch)] = patch
    path.write_bytes(content)
    try:
        read_back(open_shard(path, column="tokens"))
    except ShardError as error:
        assert str(path) in str(error)
