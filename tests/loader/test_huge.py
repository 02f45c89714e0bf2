"""Row groups and documents far larger than usual: exact, in little more memory than their tokens, and warned about."""

from __future__ import annotations

import logging
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from headrace import Source
from headrace.errors import ShardError
from headrace.formats import open_shard

from tests.loader.corpora import open_loader, sequences, take_step
from tests.loader.formats.shards import check

ROWS: list[list[int] | None] = [[n % 250] * (n % 90) or None for n in range(3000)]


@pytest.fixture
def in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Row groups of a thousand tokens count as large, and are decoded some hundred at a time."""
    monkeypatch.setattr("headrace.formats.parquet.LARGE_TOKENS", 1000)
    monkeypatch.setattr("headrace.formats.parquet._PART_TOKENS", 700)


@pytest.mark.usefixtures("in_parts")
@pytest.mark.parametrize("type_", [pa.list_(pa.uint16()), pa.large_list(pa.int64()), pa.list_(pa.uint8())])
@pytest.mark.parametrize("statistics", [True, False])
def test_a_row_group_decoded_in_parts_is_the_same(
    tmp_path: Path, type_: pa.DataType, monkeypatch: pytest.MonkeyPatch, *, statistics: bool
) -> None:
    """F06: never one array of a whole column."""
    monkeypatch.setenv("HEADRACE_CACHE", str(tmp_path / "cache"))
    table = pa.table({"text": ["x"] * len(ROWS), "tokens": pa.array(ROWS, type_)})
    pq.write_table(table, tmp_path / "a.parquet", row_group_size=2500, write_statistics=statistics, data_page_size=900)
    check(tmp_path / "a.parquet", ROWS)


@pytest.mark.usefixtures("in_parts")
def test_a_null_element_in_a_later_part_is_named_by_its_row(tmp_path: Path) -> None:
    rows: list[list[int | None] | None] = [*ROWS[:2000], [1, None], *ROWS[2000:]]
    pq.write_table(pa.table({"tokens": pa.array(rows, pa.list_(pa.int32()))}), tmp_path / "a.parquet")
    with pytest.raises(ShardError, match=r"row 2000 of .*a\.parquet has a null among its tokens"):
        open_shard(tmp_path / "a.parquet", column="tokens").open_block(0)


def test_a_huge_row_group_takes_little_more_than_its_tokens(tmp_path: Path) -> None:
    """32 M tokens in one row group: 64 MB of tokens, decoded with a tenth of that beside them."""
    tokens = np.arange(1 << 25, dtype=np.uint32).astype(np.uint16)
    offsets = np.arange(0, len(tokens) + 1, 1 << 13, dtype=np.int32)
    column = pa.ListArray.from_arrays(pa.array(offsets), pa.array(tokens))
    pq.write_table(pa.table({"tokens": column}), tmp_path / "a.parquet", use_dictionary=False, compression="none")
    del column
    shard = open_shard(tmp_path / "a.parquet", column="tokens")
    before = pa.total_allocated_bytes()
    pool = pa.default_memory_pool()
    peak_before = pool.max_memory() or 0
    block = shard.open_block(0)
    assert (block.tokens == tokens).all()
    assert pa.total_allocated_bytes() - before < 1 << 20
    assert (pool.max_memory() or 0) <= max(peak_before, before + tokens.nbytes // 2)
    assert block.nbytes < 1.1 * tokens.nbytes


def test_a_block_beyond_the_cache_is_warned_about_and_works(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """I02: a limit smaller than one block."""
    (tmp_path / "web").mkdir()
    rng = np.random.default_rng(1)
    documents = [rng.integers(1, 60_000, 1000) for _ in range(700)]
    table = pa.table({"tokens": pa.array(documents, pa.list_(pa.uint16()))})
    pq.write_table(table, tmp_path / "web" / "a.parquet")
    pq.write_table(table, tmp_path / "web" / "b.parquet", row_group_size=100)
    delivered = []
    for cache_bytes in (1 << 30, 1 << 20):
        with (
            caplog.at_level(logging.WARNING, "headrace"),
            open_loader([Source("web", str(tmp_path / "web"))], cache_bytes=cache_bytes) as loader,
        ):
            delivered.append([sequences(take_step(loader)) for _ in range(3)])
        warned = "a block of" in caplog.text
        assert warned == (cache_bytes == 1 << 20)
    assert delivered[0] == delivered[1]
    assert f"a block of {tmp_path}/web/a.parquet takes about 1 MiB by itself, and cache_bytes is 1 MiB" in caplog.text
