"""One open shard may be read by several threads at once."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from headrace.formats import open_shard
from headrace.formats.shard import MAX_BLOCK_ROWS

from tests.loader.formats.shards import write_lists

NUM_BLOCKS = 6


@pytest.mark.parametrize("kind", ["plain", "lz4", "parquet"])
def test_threads_read_the_same_blocks(tmp_path: Path, kind: str) -> None:
    documents = [[row, row + 1] for row in range(NUM_BLOCKS * MAX_BLOCK_ROWS)]
    path = tmp_path / "a"
    if kind == "parquet":
        table = pa.table({"tokens": pa.array(documents, pa.list_(pa.int32()))})
        pq.write_table(table, path, row_group_size=MAX_BLOCK_ROWS, write_statistics=False)
    else:
        compression = None if kind == "plain" else kind
        write_lists(path, documents, pa.list_(pa.int32()), MAX_BLOCK_ROWS, compression=compression)
    shard = open_shard(path, column="tokens")

    def first_token(index: int) -> int:
        block = shard.open_block(index % NUM_BLOCKS)
        return int(block.tokens[block.starts[0]])

    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(first_token, range(20 * NUM_BLOCKS)))
    assert found == [(index % NUM_BLOCKS) * MAX_BLOCK_ROWS for index in range(20 * NUM_BLOCKS)]
