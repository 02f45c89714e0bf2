"""Joined blocks hold what their parts hold, in every format."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from headrace.formats import ShardFile, open_shard
from headrace.formats.joined import JoinedShard
from headrace.formats.writer import ShardWriter

from tests.loader.formats.shards import read_back, write_lists

DOCUMENTS: list[list[int] | None] = [[row] * (row % 40) if row % 7 else None for row in range(60_000)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("joined")
    write_lists(folder / "plain", DOCUMENTS, pa.list_(pa.int32()), batch_rows=900)
    write_lists(folder / "compressed", DOCUMENTS, pa.list_(pa.int32()), batch_rows=900, compression="lz4")
    table = pa.table({"tokens": pa.array(DOCUMENTS, pa.list_(pa.int32()))})
    pq.write_table(table, folder / "parquet", row_group_size=7000)
    with ShardWriter(folder / "written", dtype=np.int32) as writer:
        writer.write(document or [] for document in DOCUMENTS)
    return folder


@pytest.mark.parametrize("kind", ["plain", "compressed", "parquet", "written"])
@pytest.mark.parametrize("factor", [1, 2, 3, 100])
def test_joined_blocks_hold_the_documents_of_their_parts(folder: Path, kind: str, factor: int) -> None:
    shard = open_shard(folder / kind, column="tokens")
    joined: ShardFile = JoinedShard(shard, factor)
    assert joined.table().num_blocks == -(-shard.table().num_blocks // factor)
    assert joined.table().num_tokens.sum() == shard.table().num_tokens.sum()
    assert read_back(joined) == read_back(shard)


def test_joining_plain_blocks_copies_no_token(folder: Path) -> None:
    shard = open_shard(folder / "plain", column="tokens")
    joined = JoinedShard(shard, 4).open_block(0)
    assert np.shares_memory(joined.tokens, shard.open_block(0).tokens)
    assert joined.nbytes == 24 * len(joined.rows)


def test_closing_lets_go_of_the_shard(folder: Path) -> None:
    joined = JoinedShard(open_shard(folder / "plain", column="tokens"), 2)
    block = joined.open_block(0)
    joined.close()
    assert block.tokens[block.starts[0]] == 1
