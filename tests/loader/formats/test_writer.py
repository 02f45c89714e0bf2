"""Headrace shards: written whole, read by anyone, counted without a pass."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import polars
import pyarrow as pa
import pytest
from headrace.errors import ConfigError, ShardError
from headrace.formats import open_shard
from headrace.formats.shard import MAX_BLOCK_ROWS, MAX_BLOCK_TOKENS
from headrace.formats.writer import ShardWriter
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.loader.formats import strategies
from tests.loader.formats.shards import check, write_arrow


def write(path: Path, documents: Any, dtype: npt.DTypeLike = np.uint16, **options: Any) -> Path:
    with ShardWriter(path, dtype=dtype, **options) as writer:
        writer.write(documents)
    return path


@st.composite
def corpora(draw: st.DrawFn) -> tuple[list[list[int]], np.dtype[np.integer]]:
    type_ = draw(st.sampled_from(strategies.INTEGERS))
    documents = draw(st.lists(st.lists(strategies.ids(type_), max_size=6), max_size=30))
    return documents, np.dtype(str(type_))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(corpora())
def test_documents_come_back_with_their_counts_and_no_pass(
    tmp_path: Path, cache: Path, corpus: tuple[list[list[int]], np.dtype[np.integer]]
) -> None:
    documents, dtype = corpus
    table = check(write(tmp_path / "a.arrow", [np.array(ids, dtype) for ids in documents], dtype), documents).table()
    ids = [token for document in documents for token in document]
    assert (table.min_token, table.max_token) == ((min(ids), max(ids)) if ids else (None, None))
    assert table.num_empty == sum(not document for document in documents)
    assert table.token_dtype == dtype
    # Compiled kernels may be kept there; tables of what a pass over the file counted may not.
    assert {path.name for path in cache.glob("*")} <= {"kernels"}


def test_batches_are_bounded_and_a_long_document_stands_alone(tmp_path: Path) -> None:
    documents = [*([[1]] * (MAX_BLOCK_ROWS + 1)), [0] * (MAX_BLOCK_TOKENS + 1), [2] * 5]
    table = check(write(tmp_path / "a.arrow", documents), documents).table()
    assert table.num_documents.tolist() == [MAX_BLOCK_ROWS, 1, 1, 1]


def test_the_same_documents_give_the_same_bytes(tmp_path: Path) -> None:
    documents = [[1, 2, 3]] * 100
    first, second = write(tmp_path / "a.arrow", documents), write(tmp_path / "b.arrow", documents)
    assert first.read_bytes() == second.read_bytes()


def test_other_readers_see_a_list_column_and_the_metadata(tmp_path: Path) -> None:
    path = write(tmp_path / "a.arrow", [[1, 2], [], [3]], metadata={"tokenizer": "bpe-8k"}, column="ids")
    table = pa.ipc.open_file(str(path)).read_all()
    assert table.column("ids").to_pylist() == [[1, 2], [], [3]]
    assert polars.read_ipc(path)["ids"].to_list() == [[1, 2], [], [3]]
    metadata = {key.decode(): text.decode() for key, text in (table.schema.metadata or {}).items()}
    assert metadata["tokenizer"] == "bpe-8k"
    assert json.loads(metadata["headrace.blocks"]) == {"num_rows": [3], "num_documents": [2], "num_tokens": [3]}
    assert json.loads(metadata["headrace.tokens"]) == {"min": 1, "max": 3, "num_empty": 1, "num_null": 0}


def test_the_file_appears_only_when_it_is_whole(tmp_path: Path) -> None:
    class StoppedError(Exception):
        pass

    path = tmp_path / "a.arrow"
    with pytest.raises(StoppedError), ShardWriter(path, dtype=np.uint16) as writer:
        writer.write([[1]])
        assert list(tmp_path.iterdir()) == []
        raise StoppedError
    assert list(tmp_path.iterdir()) == []
    write(path, [[1]])
    assert [found.name for found in tmp_path.iterdir()] == ["a.arrow"]


def test_a_failed_write_leaves_the_old_shard_and_nothing_else(tmp_path: Path) -> None:
    path = write(tmp_path / "a.arrow", [[1]])
    writer = ShardWriter(path, dtype=np.uint16)
    writer.write([[2]])
    writer._kept.add(pa.record_batch([pa.array(["not tokens"])], names=["tokens"]))  # fails while it is written
    with pytest.raises(pa.ArrowInvalid):
        writer.close()
    assert [found.name for found in tmp_path.iterdir()] == ["a.arrow"]
    check(path, [[1]])


@pytest.mark.parametrize(
    ("document", "complaint"),
    [
        ([70_000], r"row 1 of shard .* has ids from 70000 to 70000; uint16 holds 0 to 65535"),
        ([3, -1], r"row 1 of shard .* has ids from -1 to 3; uint16 holds 0 to 65535"),
        ([1.5], r"row 1 of shard .* is a 1-dimensional array of float64"),
        ([[1]], r"row 1 of shard .* is a 2-dimensional array of int64"),
        (["a"], r"row 1 of shard .* array of <U1; a document must be a one-dimensional array of integers"),
    ],
)
def test_ids_that_do_not_fit_are_refused_with_their_row(tmp_path: Path, document: Any, complaint: str) -> None:
    """F15: an id is never stored modulo the type's size."""
    with pytest.raises(ShardError, match=complaint), ShardWriter(tmp_path / "a.arrow", dtype=np.uint16) as writer:
        writer.write([[1], document])
    assert list(tmp_path.iterdir()) == []


def test_a_dtype_without_ids_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="is float32; tokens must be integers"):
        ShardWriter(tmp_path / "a.arrow", dtype=np.float32)


def test_reserved_metadata_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"\['headrace.blocks'\]; keys starting with 'headrace\.' are reserved"):
        ShardWriter(tmp_path / "a.arrow", dtype=np.uint16, metadata={"headrace.blocks": "{}"})


def rewrite(path: Path, batches: list[pa.RecordBatch], **changes: str) -> Path:
    metadata = {key.decode(): text.decode() for key, text in (batches[0].schema.metadata or {}).items()}
    metadata |= {f"headrace.{key}": text for key, text in changes.items()}
    return write_arrow(path, [batch.replace_schema_metadata(metadata) for batch in batches])


def batches_of(path: Path) -> list[pa.RecordBatch]:
    return pa.ipc.open_file(str(path)).read_all().to_batches()


def test_counts_left_over_from_before_a_rewrite_are_not_used(tmp_path: Path, cache: Path) -> None:
    """Other tools keep the metadata when they cut a table into other record batches."""
    path = write(tmp_path / "a.arrow", [[1], [2, 3], [4]])
    (batch,) = batches_of(path)
    check(rewrite(tmp_path / "b.arrow", [batch.slice(0, 1), batch.slice(1, 1)]), [[1], [2, 3]])
    assert cache.exists()


def test_counts_that_do_not_fit_the_rows_are_an_error_at_first_touch(tmp_path: Path) -> None:
    path = write(tmp_path / "a.arrow", [[1], [2, 3], [4]])
    (batch,) = batches_of(path)
    longer = rewrite(tmp_path / "b.arrow", [batch.take(pa.array([0, 1, 1]))])
    with pytest.raises(
        ShardError, match=r"block 0 \(from row 0\) of .*b\.arrow holds 3 documents of 5 tokens where its counts say"
    ):
        open_shard(longer, column="tokens").open_block(0)
    shorter = rewrite(tmp_path / "c.arrow", [batch.slice(0, 2)])
    with pytest.raises(ShardError, match=r"block 0 .* of .*c\.arrow has 2 rows where 3 are expected"):
        open_shard(shorter, column="tokens").open_block(0)


@pytest.mark.parametrize("changes", [{"blocks": "{}"}, {"blocks": "["}, {"tokens": "[]"}, {"version": "2"}])
def test_metadata_that_makes_no_sense_is_refused(tmp_path: Path, changes: dict[str, str]) -> None:
    path = rewrite(tmp_path / "b.arrow", batches_of(write(tmp_path / "a.arrow", [[1]])), **changes)
    with pytest.raises(
        ShardError,
        match=r"b\.arrow (has Headrace counts that can't be read|was written with Headrace's shard format '2')",
    ):
        open_shard(path, column="tokens")
