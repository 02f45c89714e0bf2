"""Arrow IPC with one document a record batch (the layout of foundation-model-stack/fms-fsdp)."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from headrace.errors import ShardError
from headrace.formats import open_shard
from headrace.formats.shard import MAX_BLOCK_ROWS, MAX_BLOCK_TOKENS
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.loader.formats import strategies
from tests.loader.formats.shards import check, write_arrow, write_flat


@st.composite
def corpora(draw: st.DrawFn) -> tuple[list[list[int]], pa.DataType]:
    type_ = draw(st.sampled_from(strategies.INTEGERS))
    return draw(st.lists(st.lists(strategies.ids(type_), max_size=6), min_size=1, max_size=30)), type_


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(corpora(), strategies.ipc_options())
def test_every_record_batch_is_a_document(
    tmp_path: Path, corpus: tuple[list[list[int]], pa.DataType], options: dict[str, Any]
) -> None:
    documents, type_ = corpus
    table = check(write_flat(tmp_path / "a.arrow", documents, type_, **options), documents).table()
    assert table.num_empty == sum(not document for document in documents)


def test_empty_documents_are_skipped_and_counted(tmp_path: Path) -> None:
    """P07: documents [], [5,6,7], [], [8], []."""
    table = check(
        write_flat(tmp_path / "a.arrow", [[], [5, 6, 7], [], [8], []], pa.uint16()), [[], [5, 6, 7], [], [8], []]
    ).table()
    assert (table.num_empty, table.num_documents.sum()) == (3, 2)


def test_a_null_element_is_refused_with_the_number_of_its_batch(tmp_path: Path) -> None:
    batches = [pa.record_batch([pa.array(ids, pa.int32())], names=["tokens"]) for ids in ([1], [2], [3, None])]
    with pytest.raises(ShardError, match=r"row 2 of .*a\.arrow has a null among its tokens"):
        open_shard(write_arrow(tmp_path / "a.arrow", batches), column="tokens").table()


def test_batches_are_joined_into_bounded_blocks_and_never_copied(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    documents = [list(range(length)) for length in rng.integers(0, 60, 2 * MAX_BLOCK_ROWS)]
    shard = check(write_flat(tmp_path / "a.arrow", documents, pa.uint16()), documents)
    table = shard.table()
    assert (table.num_tokens <= MAX_BLOCK_TOKENS).all()
    assert (table.num_rows <= MAX_BLOCK_ROWS).all()
    assert table.num_blocks == 2
    assert np.shares_memory(shard.open_block(0).tokens, shard.open_block(1).tokens)


def test_a_block_of_thousands_of_batches_opens_quickly(tmp_path: Path) -> None:
    """A Python object a batch, as pyarrow makes, would take more than 10 µs for each of them."""
    documents = [[1, 2, 3]] * MAX_BLOCK_ROWS
    shard = open_shard(write_flat(tmp_path / "a.arrow", documents, pa.uint16()), column="tokens")
    assert shard.table().num_blocks == 1
    took_s = []
    for _ in range(5):
        start = time.perf_counter()
        shard.open_block(0)
        took_s.append(time.perf_counter() - start)
    assert min(took_s) < MAX_BLOCK_ROWS * 5e-6
